from app.workspaces.invitations import new_token, token_sha256


def test_tokens_are_long_and_differ() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 43


def test_any_text_has_a_hash_of_64_digits() -> None:
    assert token_sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len(token_sha256("ä" * 200)) == 64
