"""The paper's disputed statements, judged again under every reading of what it leaves open."""
