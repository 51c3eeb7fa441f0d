// Package workflows holds what the workflows share: task queues, search attributes, and how an activity asks to be tried
// again. Each workflow has a folder of its own.
//
// Inputs, results and failures are ids, classes and counters. Bodies, documents, names and addresses stay in the store: a
// workflow's history is read by people who must not see them.
package workflows

// The task queues. Fetching documents has its own, so that slow downloads don't take the places of deliveries.
const (
	DeliverQueue   = "hiregate-deliver"
	DocumentsQueue = "hiregate-documents"
)
