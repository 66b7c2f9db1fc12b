"""Programs that are compared between processes, checked and watched; news of failures."""
