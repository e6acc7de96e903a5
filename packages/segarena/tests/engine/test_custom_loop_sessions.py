import polars as pl

import segarena


def hold(rules, tmp_path, answer, **options):
    for session in segarena.sessions(rules, name="mine", out=tmp_path / "mine", **options):
        while (dialogue := session.next()) is not None:
            session.submit(answer(session, dialogue))
    return segarena.RunFolder.open(tmp_path / "mine")


def test_a_script_that_holds_the_loop_leaves_the_records_of_the_engine(rules, small_run, tmp_path):
    engine = small_run("sample-disc", dataset="sample-squares").records()
    from segarena.registry import build

    disc = build("segmenter", "sample-disc")

    def answer(session, dialogue):
        return disc.predict(disc.encode(session.sample), [dialogue])[0]

    mine = hold(rules, tmp_path, answer)
    assert mine.records().equals(engine)
    assert mine.config.segmenter.name == "mine"


def test_a_script_needs_no_name(rules, tmp_path):
    assert next(iter(segarena.sessions(rules, out=tmp_path / "mine"))).next() is not None
    assert segarena.RunFolder.open(tmp_path / "mine").config.segmenter.name == "participant"


def test_a_session_left_early_is_recorded_as_failed(rules, tmp_path):
    for session in segarena.sessions(rules, name="mine", out=tmp_path / "mine"):
        session.next()
        session.submit(session.target.mask)
    records = segarena.RunFolder.open(tmp_path / "mine").records()
    failed = records.filter(pl.col("failure").is_not_null())
    assert failed["failure"].to_list() == ["abandoned by the participant; answered rounds: 1"] * 3


def test_a_script_started_again_skips_what_is_finished(rules, tmp_path):
    script = segarena.sessions(rules, name="mine", out=tmp_path / "mine")
    for _, session in zip(range(2), script, strict=False):
        while session.next() is not None:
            session.submit(session.target.mask)
    script.close()
    rest = [
        session.sample.id
        for session in segarena.sessions(rules, name="mine", out=tmp_path / "mine")
    ]
    assert rest == ["square-1", "square-2"]
