"""Files of annotation tools: parsing of their records, and drawing of their shapes as masks."""
