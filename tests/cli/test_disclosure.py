"""The command about a published tree."""

import json

import pytest

from anonymizer.cli.main import main
from tests.disclosure.test_brought import RPART, eight
from tests.disclosure.trees import table_of


def test_command__figures_repair_and_the_file_assessed_again(tmp_path, capsys) -> None:
    path, out = tmp_path / "people.csv", tmp_path / "tree.json"
    table_of(3, 200).to_csv(path, index=False)
    command = ["disclosure", str(path), "--quasi-identifying", "a,b,x", "--target", "y", "--json"]
    assert main([*command, "--max-depth", "3", "--criterion", "entropy", "--compare", "--exact"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for name in ("keys", "variables", "active", "mean_divergence", "highest_posterior", "seconds", "status"):
        assert name in answer
    assert len(answer["assumptions"]) == 8
    assert main([*command, "--max-depth", "3", "--bound", "0.6"]) == 1
    capsys.readouterr()
    repairing = [*command, "--no-internal", "--bound", "0.6", "--repair", "prune", "--out", str(out)]
    assert main(repairing) == 0
    repaired = json.loads(capsys.readouterr().out)
    assert repaired["repair"]["kept"]
    assert main([*command, "--tree", str(out), "--bound", "0.6"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["highest_posterior"] == pytest.approx(repaired["highest_posterior"])
    assert main([*command, "--repair"]) == 2
    assert "needs a bound" in capsys.readouterr().err


def test_command__a_tree_of_another_program(tmp_path, capsys) -> None:
    path, tree = tmp_path / "people.csv", tmp_path / "rpart.txt"
    eight().to_csv(path, index=False)
    tree.write_text(RPART)
    command = ["disclosure", str(path), "--quasi-identifying", "age,town", "--target", "y", "--tree", str(tree)]
    assert main([*command, "--kinds", "age=numeric", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["leaves"] == 3
    assert answer["knows"]["error_rates"] is True
    shares = answer["class_shares_of_leaves"]
    assert shares["highest_posterior"] == 1.0
    assert shares["best_guess_accuracy"] == 6 / 8
    assert main([*command, "--kinds", "age=numeric"]) == 0
    assert "by the shares in the file" in capsys.readouterr().out
    tree.write_bytes(b"PK no tree")
    assert main(command) == 2
    assert "skops file cannot be unpacked" in capsys.readouterr().err
