"""Attribution of runs to participants by a CSV file that people write by hand."""

import pytest

from segarena.errors import InvalidInput
from segarena.reports.boards.run_attribution import (
    RunAttribution,
    attribution_of,
    read_attributions,
)


def test_a_run_is_found_by_its_folder_or_by_the_end_of_its_path(tmp_path):
    file = tmp_path / "names.csv"
    file.write_text(
        "run,participant,name,chosen\nfirst,Ada,wide,\nbob/first,Bob,<b>deep</b>,Yes\n\n",
        encoding="utf-8",
    )
    names = read_attributions(file)
    assert attribution_of(names, "/x/ada/first") == RunAttribution(participant="Ada", name="wide")
    assert attribution_of(names, "/x/bob/first/") == RunAttribution(
        participant="Bob", name="<b>deep</b>", is_chosen=True
    )
    assert attribution_of(names, "/x/other") == RunAttribution()


def test_columns_may_be_missing_and_a_byte_order_mark_is_no_name(tmp_path):
    file = tmp_path / "names.csv"
    file.write_bytes("run,participant\r\nfirst,Åsa\r\n".encode("utf-8-sig"))
    assert read_attributions(file) == {"first": RunAttribution(participant="Åsa")}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "expected the columns run, participant, name, chosen, got none"),
        (b"team\nx\n", "got team"),
        (b"run,team\nx,y\n", "got run, team"),
        (b"run\nx\nx\n", "line 3: run 'x' is listed a second time; keep one line"),
        (
            b"run,name\n,y\n",
            "line 2: expected the name of a run in the column run, got an empty cell",
        ),
        (b"run\nx,y\n", "line 2: expected no more cells than columns"),
        (b"run,chosen\nx,maybe\n", "line 2: chosen: expected yes or no, got 'maybe'"),
        (b"run\n\xff\n", "expected a CSV file in UTF-8"),
        (b'run\n"x', "expected a CSV file in UTF-8"),
    ],
)
def test_what_says_nothing_clear_is_refused(tmp_path, data, why):
    (tmp_path / "names.csv").write_bytes(data)
    with pytest.raises(InvalidInput, match=why):
        read_attributions(tmp_path / "names.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"names\.csv: expected a CSV file"):
        read_attributions(tmp_path / "names.csv")
