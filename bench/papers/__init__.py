"""The tables of the papers that pgaspy descends from, measured again, with the papers' figures beside."""
