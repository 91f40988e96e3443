"""Rules, roles and bindings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.demo.apiserver.rbac import MASTERS, Attributes, Binding, Policy, Role, Rule, User

RULES = [
    (Rule(("get",), ("",), ("pods",)), Attributes("get", "", "pods"), True),
    (Rule(("get",), ("",), ("pods",)), Attributes("list", "", "pods"), False),
    (Rule(("get",), ("",), ("pods",)), Attributes("get", "apps", "pods"), False),
    (Rule(("get",), ("",), ("pods",)), Attributes("get", "", "pods", "log"), False),
    (Rule(("get",), ("",), ("pods/log",)), Attributes("get", "", "pods", "log"), True),
    (Rule(("get",), ("",), ("*/log",)), Attributes("get", "", "pods", "log"), True),
    (Rule(("get",), ("",), ("*/log",)), Attributes("get", "", "pods"), False),
    (Rule(("*",), ("*",), ("*",)), Attributes("frob", "a", "b", "c"), True),
    (Rule(("get",), ("",), ("pods",), ("a",)), Attributes("get", "", "pods", name="a"), True),
    (Rule(("get",), ("",), ("pods",), ("a",)), Attributes("get", "", "pods", name="b"), False),
    (Rule(("get",), ("",), ("pods",), ("a",)), Attributes("get", "", "pods"), False),
    (Rule(("get",), urls=("/apis/*",)), Attributes("get", path="/apis/x"), True),
    (Rule(("get",), urls=("/apis/*",)), Attributes("get", path="/apis"), False),
    (Rule(("get",), urls=("/version",)), Attributes("get", path="/version/"), False),
    (Rule(("get",), urls=("*",)), Attributes("get", "", "pods"), False),
    (Rule(("*",), ("*",), ("*",)), Attributes("get", path="/version"), False),
]


@pytest.mark.parametrize(("rule", "asked", "allowed"), RULES)
def test_a_rule_allows_what_it_lists(rule: Rule, asked: Attributes, allowed: bool) -> None:
    assert rule.allows(asked) is allowed


POD_READER = Role("reader", (Rule(("get",), ("",), ("pods",)),))


def test_a_binding_with_a_namespace_holds_there_alone() -> None:
    policy = Policy((Binding("b", POD_READER, user="ada", namespace="demo"),))
    assert policy.decide(User("ada"), Attributes("get", "", "pods", namespace="demo")).allowed
    for elsewhere in ("", "other"):
        assert not policy.decide(User("ada"), Attributes("get", "", "pods", namespace=elsewhere)).allowed
    assert not policy.decide(User("bob"), Attributes("get", "", "pods", namespace="demo")).allowed


def test_a_binding_without_one_holds_everywhere_and_says_so() -> None:
    policy = Policy((Binding("b", POD_READER, group="team"),))
    decision = policy.decide(User("ada", ("team",)), Attributes("get", "", "pods", namespace="demo"))
    assert (
        decision.reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "team"'
    )


def test_a_group_is_no_user_of_the_same_name() -> None:
    policy = Policy((Binding("b", POD_READER, user="team"),))
    assert not policy.decide(User("ada", ("team",)), Attributes("get", "", "pods")).allowed


def test_masters_may_everything() -> None:
    assert Policy(()).decide(User("root", (MASTERS,)), Attributes("frob", "x", "y")).allowed


_words = st.sampled_from(["a", "b", "*"])
_rules = st.builds(lambda verb, group, resource: Rule((verb,), (group,), (resource,)), _words, _words, _words)
_asked = st.builds(Attributes, st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("ab"))


@given(st.lists(_rules, max_size=4), _asked)
def test_a_policy_allows_exactly_what_one_of_its_rules_does(rules: list[Rule], asked: Attributes) -> None:
    policy = Policy((Binding("b", Role("r", tuple(rules)), user="ada"),))
    user = User("ada")
    assert policy.decide(user, asked).allowed is any(rule.allows(asked) for rule in rules)
    assert set(policy.rules(user, "demo")) == set(rules)
