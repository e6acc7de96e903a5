"""One-shot segmentation in tiers: pair lists read, audited, scored and built; analyses of bias."""
