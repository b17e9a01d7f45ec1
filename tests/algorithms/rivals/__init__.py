"""What people would use instead of PAO-Fed."""
