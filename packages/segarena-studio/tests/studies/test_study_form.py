"""Conversion of a study to form fields and back."""

from segarena_studio.studies.description import Study
from segarena_studio.studies.study_form import form_texts, read_form


def test_a_study_comes_back_from_its_form_as_a_browser_sends_it():
    study = Study(slug="where", title="Where?", dataset="demo", text="First.\n\nSecond.")
    sent = {name: text.replace("\n", "\r\n") for name, text in form_texts(study).items()}
    assert read_form(sent).study == study
