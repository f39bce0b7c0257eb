"""Weight shapes → perf ratios measured on this machine; pruned models, and real runs of them."""
