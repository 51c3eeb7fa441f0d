// Package failpoint names moments at which tests kill the gateway, to see that nothing is lost. A gateway that is built
// with the tag failpoints kills itself at the moment that HIREGATE_FAILPOINT names. In any other, Reach does nothing.
package failpoint

// Point is a moment in the work of a gateway.
type Point string

const (
	// GroupStored is after the members of a group were stored, and before its workflow is started.
	GroupStored Point = "group-stored"
	// GroupStarted is after Temporal took the workflow of a group, and before that is stored.
	GroupStarted Point = "group-started"
	// AttemptMade is after a partner answered an attempt, and before anything of it is stored.
	AttemptMade Point = "attempt-made"
	// StepCommitted is after a delivery was stored as an attempt left it.
	StepCommitted Point = "step-committed"
	// GroupDelivered is after the last delivery of a group was stored, and before Temporal gets the result.
	GroupDelivered Point = "group-delivered"
	// DocumentKept is after the file of a document was written, and before the document's row refers to it.
	DocumentKept Point = "document-kept"
)
