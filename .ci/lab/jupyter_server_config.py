"""Save notebooks without what JupyterLab adds to them when they are opened."""


def as_committed(model, **_):
    """Keep of a notebook's language its name alone, as chapters are committed."""
    if model["type"] == "notebook":
        metadata = model["content"]["metadata"]
        if "language_info" in metadata:
            metadata["language_info"] = {"name": metadata["language_info"]["name"]}


get_config().ContentsManager.pre_save_hook = as_committed  # noqa: F821
