package api

import "time"

// Strays are the open workflows of exports that the database lacks.
type Strays struct {
	Count  int `json:"count"`
	Looked int `json:"looked"` // open workflows that were compared with the database
	// open workflows that were not compared, as they are younger than a minute
	Young int     `json:"young"`
	More  bool    `json:"more"`                         // there are older ones, which were not compared
	Items []Stray `json:"items" schema:"maxItems=1000"` // the oldest strays
}

// Stray is an open workflow of exports that the database lacks.
type Stray struct {
	Workflow  string    `json:"workflow"` // its id in Temporal, such as export/acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11
	StartedAt time.Time `json:"startedAt"`
}

// EndedStrays says how many strays were ended.
type EndedStrays struct {
	Ended int  `json:"ended"`
	Young int  `json:"young"` // open workflows that were not compared, as they are younger than a minute
	More  bool `json:"more"`  // there are older open workflows, which were not compared: ask for the strays again
}
