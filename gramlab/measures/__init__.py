"""What is measured on any ``torch.nn.Module``; one module a quantity."""
