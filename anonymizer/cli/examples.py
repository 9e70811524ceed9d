"""What is typed: three examples of each command, as its help shows them. Each is run as a test.

They stand in a folder with the table ``people.csv`` of the README, its plan ``copse.toml`` and that of last year below
``last``, the releases ``released.csv`` and ``second.csv``, and ``report.json`` of the first.
"""

from anonymizer.cli.parser import Example

ROLES = "-q age,sex,postcode,marital_status,occupation,admission_date -s diagnosis,days_of_stay,cost -i name,email"
OF_RELEASE = "-q age,sex,postcode,marital_status,occupation,admission_date -s diagnosis,days_of_stay,cost"

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "anonymize": (
        Example(f"copse anonymize people.csv {ROLES} -k 10 -o released.csv -r report.json", "a release and its report"),
        Example(f"copse anonymize people.csv {ROLES} --check", "what stands in the way; nothing is written"),
        Example("copse anonymize people.csv --plan copse.toml -k 20 --json", "as a plan says, but for k"),
    ),
    "verify": (
        Example("copse verify released.csv -r report.json --original people.csv", "beside its report and the original"),
        Example(f"copse verify released.csv {OF_RELEASE} -k 10", "a stranger's file, by itself"),
        Example("copse verify released.csv second.csv --plan copse.toml", "what two releases prove together"),
    ),
    "init": (
        Example("copse init people.csv", "print a plan"),
        Example("copse init people.csv -k 10 --l 2 -o new.toml", "write one"),
        Example("copse init people.csv -s diagnosis --kinds postcode=categorical", "some roles are decided already"),
    ),
    "check": (
        Example("copse check", "the plan copse.toml of this folder"),
        Example("copse check last/copse.toml", "another plan"),
        Example("copse check -k 20 --json", "with another k, for a program"),
    ),
    "release": (
        Example("copse release", "the plan copse.toml of this folder"),
        Example("copse release -k 20 -o other.csv", "with another k, to another file"),
        Example("copse release copse.toml -r other.json --quiet", "with a report, and no talk"),
    ),
    "diff": (
        Example("copse diff last/copse.toml copse.toml", "last year's plan and this year's"),
        Example("copse diff last .", "of folders that have a copse.toml"),
        Example("copse diff last copse.toml --json", "for a program"),
    ),
    "attack": (
        Example(f"copse attack released.csv second.csv {OF_RELEASE}", "by the files alone"),
        Example(f"copse attack released.csv second.csv {OF_RELEASE} --original people.csv", "beside the table"),
        Example(f"copse attack released.csv second.csv {OF_RELEASE} -k 5 --json", "for a program"),
    ),
    "risk": (
        Example("copse risk people.csv -q age,sex,postcode --fraction 0.05", "of a sample of one in twenty"),
        Example("copse risk people.csv -q age,sex,postcode --riskiest 5", "and the riskiest rows"),
        Example("copse risk sample:hospital -q age,sex --fraction 0.05 --json", "a sample, for a program"),
    ),
    "evaluate": (
        Example("copse evaluate people.csv -q age,sex -s diagnosis -k 5,10 --folds 2", "by two folds"),
        Example(
            "copse evaluate people.csv -q age,sex -s diagnosis -k 5 --folds 5 --only 1 --groupings least,error-risk",
            "two ways to group, by one fold of five",
        ),
        Example("copse evaluate people.csv -q age,sex -s diagnosis -k 5 --folds 2 --sample 200 -o means.csv", "a file"),
    ),
    "hierarchy": (
        Example(
            "copse hierarchy people.csv --column age -q age,sex -s diagnosis --bands age=0,18,65 -o age.csv",
            "the bands of a column",
        ),
        Example("copse hierarchy people.csv --column age -q age,sex -s diagnosis --of tree -o tree.csv", "of the tree"),
        Example(
            "copse hierarchy people.csv --column age -q age,sex -s diagnosis --of tree -k 50 -o wide.csv", "wider ones"
        ),
    ),
    "forest": (
        Example("copse forest people.csv --target diagnosis --columns age,sex", "one tree, ε = 1"),
        Example("copse forest people.csv --target diagnosis --columns age,sex --epsilon 2 --rules rules.txt", "rules"),
        Example("copse forest people.csv --target diagnosis --columns age,sex --mode scorecard --json", "a scorecard"),
    ),
    "audit": (
        Example("copse audit --mode strict --runs 200", "one mode, quickly"),
        Example("copse audit --mode strict --mode paper --epsilon 0.5 --runs 200", "two modes, another claim"),
        Example("copse audit --mode strict --runs 200 --seed 1 --json", "the same figures every time, for a program"),
    ),
    "disclosure": (
        Example("copse disclosure people.csv -q age,marital_status --target sex --max-depth 2", "what a tree tells"),
        Example(
            "copse disclosure people.csv -q age,marital_status --target sex --max-depth 2 --bound 0.9 --repair",
            "withheld until nobody is guessed more surely than 0.9",
        ),
        Example("copse disclosure people.csv -q age,marital_status --target sex --max-depth 2 --json", "for a program"),
    ),
    "ledger": (
        Example("copse ledger new patients --by registry", "begin an account"),
        Example("copse ledger show patients", "its entries"),
        Example("copse ledger check patients released.csv", "whether it is whole, and has this release"),
    ),
    "key": (
        Example("copse key new key.pem", "make a key, with a password"),
        Example("copse key show key.pem", "what recipients of packets need of it"),
    ),
    "app": (
        Example("copse app", "on this machine alone"),
        Example("copse app --port 8600", "at another port"),
        Example("copse app --address 0.0.0.0 --login login.toml", "for others, who sign in"),
    ),
    "compile": (Example("copse compile", "once after every update"),),
    "completion": (
        Example("copse completion bash > ~/.local/share/bash-completion/completions/copse", "for bash"),
        Example('copse completion zsh > "${fpath[1]}/_copse"', "for zsh"),
        Example("copse completion fish > ~/.config/fish/completions/copse.fish", "for fish"),
    ),
    "schema": (
        Example("copse schema", "the names of all"),
        Example("copse schema report", "of the report of a release"),
        Example("copse schema verify > verify.schema.json", "into a file"),
    ),
}
"""Of each command by name."""
