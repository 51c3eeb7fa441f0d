// Package workflows holds what the workflows share: task queues, search attributes, how an activity asks Temporal to
// run it again, and how a running workflow is looked up and hurried. Each workflow has a folder of its own.
//
// Inputs, results and failures are ids, classes and counters. Bodies, documents, names and addresses stay in the store:
// people who must not see them read a workflow's history.
package workflows

// The task queues. Fetching documents and submissions have their own, so that slow downloads and services don't take the
// places of deliveries.
const (
	DeliverQueue   = "hiregate-deliver"
	DocumentsQueue = "hiregate-documents"

	SubmissionsQueue = "hiregate-submissions"
)
