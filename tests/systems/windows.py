"""What of the suite can't run on Windows, each with its reason.

A name is that of a directory, of a file, or of a test in it, as pytest spells it. The
rest runs there; what it meets that Windows does not have (a terminal of POSIX, strace,
root) skips it.
"""

import os
import shutil
from collections import Counter
from functools import cache, partialmethod
from pathlib import Path

import pytest

HERE = os.name == "nt"
# how many tests there are on Linux; `make test-windows` sets it
OF = "CCMOVE_TESTS_IN_ALL"

CLIENT = "drives the client on a terminal of POSIX; tests/client/test_windows.py has Windows' own"
STRACE = "needs strace, or signals that kill and stop"
MODES = "modes and owners, which mean nothing on Windows"
MOUNTS = "needs mounts of Linux, or limits of POSIX"
NAMES = "names that can't exist on Windows, or there alone"
PROC = (
    "looks at what only POSIX has: /proc, descriptors of directories, signals, shells"
)
LINKS = "needs symbolic links, which Wine does not show as such"
APFS = "about names on macOS"
MUTANTS = "about the tests themselves, and the same everywhere"
PACKAGES = "about the packages, which are the same everywhere"
SCHEMA = "needs jsonschema, which the test bed does not have"

# Not even collected: these files ask for things of POSIX as they are imported.
FILES = {
    "tests/client": CLIENT,
    "tests/mutants": MUTANTS,
    "tests/hostile/test_full_disks.py": MOUNTS,
    "tests/hostile/test_limits.py": MOUNTS,
    "tests/hostile/test_meddling.py": STRACE,
    "tests/hostile/test_names.py": NAMES,
    "tests/hostile/test_owner_and_mode.py": MODES,
    "tests/claude/test_live.py": PROC,
    "tests/claude/test_reading.py": PROC,
    "tests/output/test_published_json.py": SCHEMA,
    "tests/test_packaging.py": PACKAGES,
}
GIT = "needs git, which the test bed does not have"
POSIX_DATA = "data of a POSIX system, whose paths name something else on Windows"
GOLDEN = "a golden file that spells a project below another as POSIX does"
NOT_YET = "does not hold on Windows yet, and docs/windows.md says so"
CASE = "Wine keeps a name's old spelling when only its case changes"
SAME = "where case is ignored by paths too, a directory in another case need not be renamed"
CASE_COUNTS = "needs a disk on which case makes another name"
FROM_ELSEWHERE = "about paths of Windows that are seen from another system"
SHELLS = "needs bash, zsh or fish, for which completion and such quotes are"
OPEN = "Windows does not replace a file that is open; tests/systems/test_windows.py has that"
SLOW = "makes thousands of files or hundreds of processes, for many minutes under Wine"
WORDS = "compares with the words for a POSIX shell, or with a picture of one"
TOLD = "acts where a call of POSIX is looked up that renames and replaces nothing"
BENCHMARK = "the benchmark is for Linux"
TILDE = "a list has `~` for the home, which the shells of Windows do not know"
PROGRAMS = (
    "types findstr, of which Wine has the name alone, or find, which Windows lacks"
)
# One name a line.
TESTS = {
    STRACE: "tests/crash/test_linter.py",
    APFS: "tests/systems/test_apfs.py",
    LINKS: """
tests/inside/test_install.py::test_settings_keep_their_mode_and_stay_a_link
tests/inside/test_install.py::test_a_link_that_leads_nowhere_is_still_one
tests/inspect/test_retention.py::test_settings_may_be_a_link_and_what_is_no_file_is_not_known
tests/shapes/test_both_stay.py
tests/laws/test_law_06_07_12_backups.py::test_pruning_after_a_merge_loses_nothing
tests/shapes/test_undone_again.py::test_a_config_file_that_became_a_link_since_is_restored
tests/hostile/test_data_not_orders.py::test_the_size_of_a_backup_that_is_a_link_is_not_looked_for_outside
tests/test_support.py::test_each_kind_of_change_is_seen_and_named[link target]
tests/hostile/test_races.py
tests/output/test_failures.py::test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing[refused_history_leads_out]
tests/output/test_failures.py::test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing[paths_folder_is_a_link]
tests/e2e/test_refusals.py::test_a_link_is_not_renamed_with_the_folder_behind_it
tests/e2e/test_refusals.py::test_a_link_that_was_left_behind_for_new_is_not_a_folder_to_rename
tests/inspect/test_lost.py::test_links_and_what_is_inside_repositories_are_not_walked_into
tests/inspect/test_spellings.py::test_a_folder_that_is_known_through_a_link_is_merged_by_the_command
tests/inspect/test_verify.py::test_a_path_may_be_relative_or_lead_through_a_link
tests/inspect/test_where.py::test_a_link_leads_to_the_real_folder
tests/inspect/test_where.py::test_what_is_known_only_as_typed_is_found
tests/systems/test_homes.py::test_what_is_the_users_own_may_be_a_link_and_stays_one
tests/hostile/test_symlinks.py
tests/shapes/test_life_went_on.py::test_a_history_that_became_a_link_out_of_the_state_is_not_followed
tests/shapes/test_moved_before.py::test_a_link_in_the_place_of_the_ledger_leads_nowhere
tests/shapes/test_paths.py::test_a_parent_that_is_a_link_is_seen_through
tests/shapes/test_paths.py::test_a_path_known_only_as_it_was_typed_is_moved
tests/shapes/test_paths.py::test_a_config_file_that_is_a_link_stays_a_link
tests/shapes/test_shared.py::test_a_link_in_shared_memory_is_named_and_not_copied
""",
    TOLD: "tests/transfer/test_meddling.py",
    PROC: """
tests/transfer/test_archive.py::test_tar_and_sha256sum_take_it
tests/transfer/test_pack.py::test_what_a_killed_one_left_is_removed_by_the_next
tests/hostile/test_huge.py
tests/inside/test_hook.py::test_typed_at_a_terminal_it_says_what_it_is_for
tests/output/test_demo.py::test_the_demo_cleans_up_when_it_is_stopped
tests/output/test_failures.py::test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing[paths_in_a_folder_that_is_gone]
tests/output/test_failures.py::test_every_command_that_a_failure_prints_can_be_typed_as_it_stands[paths_in_a_folder_that_is_gone]
tests/output/test_failures.py::test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing[refused_full_disk]
tests/output/test_failures.py::test_every_command_that_a_failure_prints_can_be_typed_as_it_stands[refused_full_disk]
tests/e2e/test_interrupts.py
tests/shapes/test_move_folder.py::test_a_failure_later_puts_the_folder_back
tests/e2e/test_refusals.py::test_in_a_folder_that_was_deleted_only_whole_paths_work
""",
    GIT: """
tests/transfer/test_pack.py::test_the_header_says_where_it_comes_from
tests/e2e/test_who_is_at_new.py
tests/e2e/test_odd_surroundings.py
tests/shapes/test_undo_in_the_way.py
tests/inspect/test_where.py::test_memory_and_entry_are_those_of_the_main_checkout
""",
    NAMES: """
tests/transfer/test_pack.py::test_what_has_no_role_is_left_out_and_named
tests/transfer/test_pack.py::test_notes_deeper_than_names_can_be_are_left_out_and_named
tests/hostile/test_data_not_orders.py::test_a_backup_nested_a_thousand_directories_deep_is_listed
tests/hostile/test_data_not_orders.py::test_a_directory_that_is_named_like_no_id_is_passed_over[20261116T004112Z-3f9c\\n]
tests/hostile/test_data_not_orders.py::test_nothing_is_swept_up_that_is_staged[under a name that no disk can hold]
tests/hostile/test_data_not_orders.py::test_nothing_is_swept_up_that_is_staged[there by its whole path]
tests/e2e/test_details.py::test_odd_things_in_a_project_directory_move_along
tests/rewrite/test_pathmap.py::test_the_client_spells_a_name_that_is_not_utf8_with_replacement_characters
""",  # noqa: E501
    GOLDEN: """
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[list]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[move]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[move_broken_lines]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[move_verbose]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[preview]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[preview_restore]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[preview_restore_after_use]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[preview_verbose]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[restore]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[restore_after_use]
tests/output/test_results.py::test_a_result_reads_as_the_golden_file_has_it[show_restore]
""",
    NOT_YET: """
tests/inspect/test_one_path.py::test_what_of_a_lost_parent_is_not_inside_stays
tests/shapes/test_shared.py::test_a_gone_twin_comes_along_with_its_prompts_and_settings
tests/transfer/test_pack.py::test_a_line_of_the_history_that_is_no_prompt_is_left_out_and_named
""",
    POSIX_DATA: """
tests/transfer/test_pack.py::test_what_can_not_be_meant_is_said
tests/claude/test_owners.py
tests/fuzz/test_corpus.py::test_control_a_planted_bug_is_found_by_the_kept_inputs
tests/hostile/test_data_not_orders.py::test_control_what_a_run_writes_is_believed
tests/plan/test_portions.py
tests/plan/test_order.py
tests/run/test_undo_decides.py
tests/shapes/test_values_follow.py
tests/fuzz/test_corpus.py::test_every_kept_input_keeps_the_promises[manifests]
tests/fuzz/test_corpus.py::test_random_inputs_keep_the_promises[manifests]
tests/inspect/test_doctor.py::test_a_directory_that_names_no_path_can_be_moved_by_any_path_of_its_name
tests/laws/test_law_06_07_12_backups.py::test_a_home_that_moved_with_project_files_can_be_undone
tests/shapes/test_documents.py::test_an_index_as_the_client_writes_it_is_rewritten_whole
tests/shapes/test_config_values.py::test_the_clients_own_file_changes_in_two_places
tests/shapes/test_left_alone.py::test_the_state_in_a_home_that_moved_is_not_a_projects_own
""",
    TILDE: "tests/output/test_widths.py::test_a_list_shows_each_path_whole_and_ends_with_what_to_do",  # noqa: E501
    PROGRAMS: """
tests/inspect/test_doctor.py::test_bringing_a_directory_beside_takes_hidden_files_along
tests/shapes/test_left_alone.py::test_every_hint_is_a_command_that_works_as_it_stands
""",
    MODES: """
tests/transfer/test_pack.py::test_a_file_is_private_complete_and_replaces_the_one_before
tests/crash/test_verdict.py::test_any_other_tree_is_neither[a mode]
tests/crash/test_verdict.py::test_any_other_tree_is_neither[our directory is open to others]
tests/crash/test_verdict.py::test_any_other_tree_is_neither[our lock is open to others]
tests/test_support.py::test_what_must_survive_is_there_to_be_lost
tests/test_support.py::test_each_kind_of_change_is_seen_and_named[mode]
tests/output/test_failures.py::test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing[refused_other_owner]
tests/output/test_failures.py::test_every_command_that_a_failure_prints_can_be_typed_as_it_stands[refused_other_owner]
tests/inspect/test_verify.py::test_a_closed_directory_of_another_project_is_named
tests/shapes/test_moved_before.py::test_what_is_kept_of_pruned_backups_is_readable_by_the_owner_only
tests/e2e/test_move.py::test_saved_files_are_readable_by_the_owner_only
""",
    FROM_ELSEWHERE: """
tests/inspect/test_doctor.py::test_a_folder_that_can_not_be_checked_is_not_an_orphan
tests/inspect/test_list.py::test_whether_a_windows_folder_exists_can_not_be_told_here
tests/inspect/test_where.py::test_a_path_of_windows_is_understood_here
""",
    SHELLS: """
tests/output/test_boundary.py::test_output_that_nobody_reads_any_more_is_not_an_error
tests/output/test_boundary.py::test_output_that_can_not_be_written_is_said_and_what_was_done_stays_done
tests/output/test_boundary.py::test_an_answer_that_can_not_be_written_is_a_failure
tests/output/test_boundary.py::test_an_error_that_can_not_be_written_still_has_its_exit_code
tests/output/test_boundary.py::test_closed_outputs_do_no_harm
tests/output/test_boundary.py::test_the_program_can_be_run_as_a_module_and_by_its_name
tests/inspect/test_completion.py
tests/inspect/test_doctor.py::test_a_command_can_be_typed_into_a_shell_whatever_the_path
tests/e2e/test_hints.py::test_a_config_directory_in_the_folder_to_be_renamed_comes_along_by_hand
""",
    OPEN: """
tests/laws/test_law_06_07_12_backups.py::test_an_append_through_a_file_that_was_open_does_not_spoil_the_backup
tests/transfer/test_pack.py::test_what_grows_meanwhile_is_left_out
tests/transfer/test_pack.py::test_what_shrinks_or_vanishes_breaks_off_a_pipe
""",
    SLOW: """
tests/lives
tests/hostile/test_vanishing.py
tests/inspect/test_growth.py
""",
    WORDS: """
tests/output/test_errors.py::test_a_hint_is_told_as_a_sentence_and_a_command
tests/output/test_errors.py::test_all_hints_of_an_error_are_said
tests/output/test_errors.py::test_what_the_system_refused_has_advice
tests/output/test_documents.py::test_the_picture_shows_what_the_demo_prints_today
""",
    BENCHMARK: "tests/e2e/test_benchmark.py",
    CASE: "tests/shapes/test_same_name.py::test_a_rename_of_case_alone_is_a_move_like_any_other",
    SAME: """
tests/shapes/test_same_name.py::test_where_case_is_ignored_the_directory_is_renamed_and_not_merged_with_itself
tests/shapes/test_same_name.py::test_where_case_is_ignored_sessions_begun_under_the_new_case_do_not_part_from_the_others
""",
    CASE_COUNTS: "tests/shapes/test_same_name.py::test_without_that_the_same_states_are_told_apart",
}


def has_git() -> bool:
    """Elsewhere it must be there."""
    return not HERE or shutil.which("git") is not None


def git() -> str:
    """The program; a test that asks for it is skipped on Windows where there is none."""
    if not has_git():
        pytest.skip(GIT)
    return "git"


def make_pipe(path: Path) -> None:
    """With a name among files, which Windows does not have."""
    if HERE:
        pytest.skip(PROC)
    os.mkfifo(path)


def write_lines_as_the_client_does() -> None:
    """Text that a test writes has `\\n` on Windows too; ccmove itself writes bytes
    alone.
    """
    Path.write_text = partialmethod(Path.write_text, newline="\n")  # type: ignore[assignment]


@cache
def excluded() -> list[tuple[str, str]]:
    """The names in TESTS, each with its reason."""
    return [
        (name.replace("\\", "/"), reason)
        for reason, names in TESTS.items()
        for name in names.strip().split("\n")
    ]


def reason_for(name: str) -> str | None:
    """Why a test of this name does not run on Windows; None when it does."""
    name = name.replace("\\", "/")
    for prefix, reason in [*FILES.items(), *excluded()]:
        if name == prefix or name.startswith(
            (prefix + "/", prefix + "::", prefix + "[")
        ):
            return reason
    return None


def tell(reporter: pytest.TerminalReporter) -> None:
    """How many of how many tests ran, and why the others did not."""
    counts = {
        kind: len(reporter.stats.get(kind, ()))
        for kind in ("passed", "failed", "error")
    }
    ran = sum(counts.values())
    of = os.environ.get(OF, "")
    reporter.section("on Windows")
    skipped = Counter(_reason(report) for report in reporter.stats.get("skipped", ()))
    for reason, number in skipped.most_common():
        reporter.write_line(f"{number:5} {reason}")
    if of:
        reporter.write_line(
            f"{int(of) - ran - skipped.total():5} in files that are for POSIX alone:"
        )
        for name, reason in FILES.items():
            reporter.write_line(f"        {name}: {reason}")
    reporter.write_line(f"ran {ran}{f' of {of}' if of else ''} tests")


def _reason(report: pytest.TestReport) -> str:
    told = (
        report.longrepr[2]
        if isinstance(report.longrepr, tuple)
        else str(report.longrepr)
    )
    return told.removeprefix("Skipped: ")
