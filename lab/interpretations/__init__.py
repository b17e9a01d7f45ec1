"""The paper's disputed statements, judged under every interpretation of what it leaves open."""
