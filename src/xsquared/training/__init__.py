"""Training: fits of networks to targets."""
