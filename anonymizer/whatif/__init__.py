"""What other settings would risk and lose: the frontier, scenarios, and the project file that keeps them."""
