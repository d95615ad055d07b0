"""What the help and the manual page say beside the options: words only."""

Rows = tuple[tuple[str, str], ...]

ALONE = (
    "ccmove moves Claude Code's sessions, history, memory and settings when a project "
    "folder was renamed."
)
USUAL_ONES: Rows = (
    ("ccmove OLD NEW", "after you renamed or moved the folder"),
    ("ccmove .", "in the new folder: finds the old one itself"),
    ("ccmove -n OLD NEW", "preview, change nothing"),
    ("ccmove -m OLD NEW", "rename the folder too"),
    ("ccmove undo", "undo the last move"),
    ("ccmove doctor", "find projects whose folder is gone, and where they went"),
    ("ccmove list", "all projects Claude Code knows"),
)
MORE = "Try it on sample data: ccmove demo\nAll options:           ccmove --help"

USAGE = """\
Usage: ccmove [OPTIONS] OLD NEW
       ccmove [OPTIONS] PATH       one is enough: ccmove works out the other one"""
SUMMARY = (
    "Move Claude Code's sessions, history, memory and settings from OLD to NEW after "
    "a project folder was renamed or moved, with every project inside it."
)
FURTHER = "Examples, exit codes: ccmove help move    Each command: ccmove help COMMAND"

EXAMPLES: dict[str, Rows] = {  # of each command
    "move": (
        *USUAL_ONES[:4],
        ("ccmove ~/code ~/src", "every project that was in ~/code"),
        ("ccmove help undo", "all about one command"),
    ),
    "undo": (
        ("ccmove undo", "undo the last move"),
        ("ccmove undo -n 3f9c", "preview undoing the one whose ID ends so"),
    ),
    "doctor": (
        ("ccmove doctor", "what is wrong, and the command that fixes it"),
        (
            "ccmove doctor --fix --search ~/archive",
            "look there too, then ask about each",
        ),
    ),
    "verify": (
        ("ccmove verify", "all projects"),
        ("ccmove verify ~/code/new", "one project, and what is nested inside it"),
    ),
    "list": (
        ("ccmove list --missing", "projects whose folder is gone"),
        ("ccmove list ~/code --sort size", "those in ~/code, the largest first"),
    ),
    "where": (
        ("ccmove where", "the directory with this folder's sessions"),
        ("ccmove where ~/code/new --json", "and what else is known about it"),
    ),
    "pack": (
        ("ccmove pack . -o app.tar.gz", "this project into a file"),
        ("ccmove pack --all -o all.tar.gz", "every project of this home"),
    ),
    "show": (
        ("ccmove show", "the last run in full"),
        ("ccmove show ID", "this one; ccmove backups lists the IDs"),
    ),
    "backups": (
        ("ccmove backups", "what can be undone"),
        ("ccmove backups 3f9c", "the one whose ID ends so"),
    ),
    "prune": (
        ("ccmove prune -n", "preview removing what is older than 30 days"),
        ("ccmove prune --keep 10", "remove all but the newest 10"),
    ),
    "recover": (
        ("ccmove recover", "roll back what was interrupted"),
        ("ccmove recover --set-aside", "keep what can't be rolled back, and go on"),
    ),
    "unpack": (
        ("ccmove unpack app.tar.gz ~/code/app", "the other end of ccmove pack"),
        ("ccmove unpack -n app.tar.gz", "preview: what would come, and where to"),
    ),
    "hook": (
        ("ccmove hook --install", "be told in a renamed folder, when a session starts"),
        ("ccmove hook --remove", "not any more"),
    ),
    "demo": (
        ("ccmove demo", "preview, move, verify, undo"),
        ("ccmove demo | less", "page by page"),
    ),
    "completion": (
        ("ccmove completion bash", "the script for bash"),
        ("ccmove completion fish | source", "use it in this fish"),
    ),
}

EXIT_CODES: Rows = (
    ("0", "done; for a preview: there is something to do"),
    ("1", "failed, and everything is as it was; doctor, verify: something is wrong"),
    ("2", "wrong usage"),
    ("3", "Claude Code has no data for that path, nothing done"),
    ("4", "refused: a decision or another process is in the way, nothing done"),
    ("5", "interrupted, or could not be rolled back: ccmove recover"),
    ("130", "Ctrl-C, and everything is as it was"),
)
