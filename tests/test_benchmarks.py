"""What the benchmarks say of options that cannot be."""

import pytest

from benchmarks import load


@pytest.mark.parametrize("movers", ["0", "8", "9"])
def test_load__leaves_one_session_that_waits(movers: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        load.main(["--sessions", "8", "--movers", movers])
    assert ended.value.code == 2
    error = capsys.readouterr().err.splitlines()
    assert error[-1].endswith("of 8 sessions 1 to 7 can work (--movers), for one more has to wait.")
