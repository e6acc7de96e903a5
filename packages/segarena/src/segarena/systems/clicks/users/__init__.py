"""Users who click by a click map, in clicking groups, or as recorded people did."""
