import zipfile

import pytest

from segarena.errors import DatasetError
from segarena.systems.volumes.preparation.spreadsheet import find_column, read_spreadsheet

SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="B1" t="s"><v>0</v></c><c r="D1" t="s"><v>1</v></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>ID</t></is></c><c r="B2" t="s"><v>2</v></c><c r="C2" t="s"><v>3</v></c>'
    '<c r="D2" t="s"><v>2</v></c><c r="E2" t="s"><v>3</v></c></row>'
    '<row r="4"><c r="A4"><v>1</v></c><c r="C4"><v>1.5</v></c><c r="E4"><v>6.5</v></c></row>'
    "</sheetData></worksheet>"
)
WITH_ENTITY = (
    f'<!DOCTYPE worksheet [<!ENTITY long "x">]>{SHEET.replace("<t>ID</t>", "<t>&long;</t>")}'
)
SHARED = (
    '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>T1</t></si>'
    "<si><r><t>FL</t></r><r><t>AIR</t></r></si><si><t>Rows</t></si><si><t>Spacing Between Slices</t></si></sst>"
)


KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{KIND}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<sheets><sheet name="first" sheetId="1" r:id="rId1"/><sheet name="other" sheetId="2" r:id="rId2"/></sheets>'
        "</workbook>"
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{KIND}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{KIND}/worksheet" Target="worksheets/sheet10.xml"/></Relationships>'
    ),
    "xl/worksheets/sheet10.xml": "<worksheet/>",
}


@pytest.fixture
def book(tmp_path):
    """Write an .xlsx with a first sheet and shared strings."""

    def write(sheet=SHEET, shared=SHARED):
        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as out:
            for name, text in {
                **PACKAGE,
                "xl/worksheets/sheet1.xml": sheet,
                "xl/sharedStrings.xml": shared,
            }.items():
                out.writestr(name, text)
        return tmp_path / "a.xlsx"

    return write


def test_cells_of_a_workbook_stand_where_they_say(book):
    assert read_spreadsheet(book()) == [
        ["", "T1", "", "FLAIR", ""],
        ["ID", "Rows", "Spacing Between Slices", "Rows", "Spacing Between Slices"],
        ["", "", "", "", ""],
        ["1", "", "1.5", "", "6.5"],
    ]


def test_a_column_is_found_below_its_group(book):
    table = read_spreadsheet(book())
    assert find_column(table, "spacing between slices", group="flair") == ["", "6.5"]
    assert find_column(table, "Spacing Between Slices", group="T1") == ["", "1.5"]
    assert find_column(table, "Spacing Between Slices") == ["", "1.5"]


def test_csv_needs_no_groups(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffID,Spacing Between Slices\n3,4.5\n", encoding="utf-8")
    assert find_column(
        read_spreadsheet(tmp_path / "a.csv"), "Spacing Between Slices", group="FLAIR"
    ) == ["4.5"]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DatasetError, match="a column 'Depth' below 'FLAIR', found"):
        find_column([["", "FLAIR"], ["ID", "Rows"]], "Depth", group="FLAIR")
    with pytest.raises(DatasetError, match="column 'ID'"):
        find_column([["a", "b"]], "a")


@pytest.mark.parametrize("sheet", ["<broken", SHEET.replace("<v>3</v>", "<v>99</v>"), WITH_ENTITY])
def test_a_damaged_workbook_is_one_line(book, sheet):
    with pytest.raises(DatasetError, match=r"expected a table as \.csv or \.xlsx"):
        read_spreadsheet(book(sheet))


def test_no_workbook_is_one_line(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(DatasetError, match=r"expected a table as"):
        read_spreadsheet(tmp_path / "a.xlsx")


@pytest.mark.parametrize("last", ["XFD1048576", "A9999999", "ZZZ9999"])
def test_a_small_sheet_that_spans_gigabytes_is_refused(book, last):
    sheet = SHEET.replace("</sheetData>", f'<row><c r="{last}"><v>1</v></c></row></sheetData>')
    assert last in sheet
    with pytest.raises(DatasetError, match="more than 5,000,000 cells"):
        read_spreadsheet(book(sheet))


@pytest.mark.long
def test_a_workbook_that_unpacks_to_gigabytes_is_refused(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w") as sheet,
    ):
        for _ in range(100):
            sheet.write(bytes(1 << 20))
    with pytest.raises(
        DatasetError, match="expected at most 89,478,485 pixels, but the header claims 104,857,600"
    ):
        read_spreadsheet(tmp_path / "a.xlsx")


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_a_workbook_with_damaged_compressed_data_is_one_line(tmp_path, compression):
    file = tmp_path / "a.xlsx"
    name = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(name, SHEET * 20)
    data = bytearray(file.read_bytes())
    # The local header has 30 bytes and the name; the first bytes after it describe the compression.
    start = 30 + len(name)
    data[start : start + 60] = b"\xff" * 60
    file.write_bytes(data)
    with pytest.raises(DatasetError, match=r"expected a table as \.csv or \.xlsx"):
        read_spreadsheet(file)
