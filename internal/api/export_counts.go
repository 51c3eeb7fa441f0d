package api

// ExportCounts counts the exports of a filter: all, and those that answer a frequent question as well. An outcome takes
// the place of the filter's. Delivered is left out where the filter chooses what is undelivered: nearly nothing is both,
// and all of it would be looked at.
type ExportCounts struct {
	All           Count  `json:"all"`
	Retrying      Count  `json:"retrying"`
	Held          Count  `json:"held"`
	Delivered     *Count `json:"delivered,omitempty"`
	Failed        Count  `json:"failed"`
	Expired       Count  `json:"expired"`
	Undelivered   Count  `json:"undelivered"`
	Quarantined   Count  `json:"quarantined"`
	LostDocuments Count  `json:"lostDocuments"`
}

// Count counts up to a bound.
type Count struct {
	Count int64 `json:"count"`         // at most 1,000
	More  bool  `json:"more,omitzero"` // there are more than 1,000
}
