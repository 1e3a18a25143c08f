"""Rules from TOML."""

from __future__ import annotations

import pytest

from interlingua.profiles.profile import Overlay, bundled, profile_of
from interlingua.profiles.reading import ProfilesFileError, compiled_rules, read_rules


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]\n", "f.toml, line 1: not TOML"),
        ("[[rules]]\n", "f.toml, at rules: unknown field; rules are [[rule]]"),
        ("rule = 1\n", "f.toml, at rule: expected [[rule]], found 1"),
        ("[[rule]]\nat = ['x']\n", "line 1, at id: Object missing required field"),
        (
            "[[rule]]\nid = 'a'\n[[rule]]\nid = 'b'\nversion = '5+'\n",
            "line 5, rule 'b', at version",
        ),
        (
            "[[rule]]\nid = 'a'\n\nsampling = { n = 'x' }\n",
            "f.toml, line 4, rule 'a', at sampling.n: Expected `int | null`, got `str`",
        ),
        ("[[rule]]\nid = 'a'\nfoo = 1\n", "line 3, rule 'a', at foo: Object contains unknown"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_line_rule_and_field(text: str, said: str) -> None:
    with pytest.raises(ProfilesFileError) as wrong:
        read_rules(text.encode(), "f.toml")
    assert said in str(wrong.value)


def test_bytes_that_are_no_text_are_an_error_with_their_line() -> None:
    with pytest.raises(ProfilesFileError, match=r"f\.toml, line 2: not UTF-8"):
        read_rules(b"# fine\n# \xff", "f.toml")


def test_the_compiled_rules_are_those_of_the_text() -> None:
    from importlib import resources

    text = resources.files("interlingua.profiles").joinpath("data", "profiles.toml").read_bytes()
    assert bundled().rules == read_rules(text, "profiles.toml")
    assert compiled_rules(text).startswith(b'{"of":"')


def test_a_table_of_a_provider_has_no_conditions() -> None:
    assert set(Overlay.__struct_fields__) - {"like"} == set(profile_of("m").__struct_fields__) - {
        *("rules", "name", "provider", "dialect")
    }
