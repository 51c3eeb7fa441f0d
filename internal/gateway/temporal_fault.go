package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// TemporalFault is why Temporal can't be used. Reason is a sentence without addresses and secrets, which a public page
// may show.
type TemporalFault struct {
	Reason string
	cause  error
}

func (f *TemporalFault) Error() string { return "temporal: " + f.cause.Error() }
func (f *TemporalFault) Unwrap() error { return f.cause }

// errNoWorkers is while Temporal answers and the workers are being started.
var errNoWorkers = &TemporalFault{"the workers that deliver are not started yet", errors.New("no workers")}

// errSignInAlone is in a gateway that has no Temporal.
var errSignInAlone = &TemporalFault{"this gateway signs people in, and does nothing else: ask another one",
	errors.New("there is no Temporal")}

const noAnswer = "Temporal does not answer"

// temporalFault tells from an error of Temporal's client why it can't be used.
func temporalFault(err error, namespace string) *TemporalFault {
	reason := noAnswer
	switch code, text := serviceerror.ToStatus(err).Code(), err.Error(); {
	case code == codes.NotFound:
		reason = fmt.Sprintf("namespace %[1]s does not exist in Temporal: create it, as with `temporal operator namespace create "+
			"--namespace %[1]s --retention 7d`, or correct the option namespace of temporal", namespace)
	case code == codes.PermissionDenied:
		reason = fmt.Sprintf("Temporal denies the gateway the use of namespace %s: look what its api_key or certificate "+
			"may do", namespace)
	case code == codes.Unauthenticated:
		reason = "Temporal does not know the gateway: check api_key or client_auth of temporal"
	case strings.Contains(text, "authentication handshake failed"): // gRPC has no error of its own for it
		reason = "the TLS handshake with Temporal fails: check tls of temporal, and Temporal's certificate"
	case strings.Contains(text, "server preface"):
		reason = "Temporal's answer is not what it says without TLS: if it wants TLS, set tls of temporal"
	}
	return &TemporalFault{reason, err}
}

// describeNamespace asks Temporal for the namespace. The error is a *TemporalFault.
func describeNamespace(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return temporalFault(err, namespace)
	}
	return nil
}

// reachable reports whether something listens at Temporal's address: the client would ask again and again.
func (r *Runtime) reachable(ctx context.Context) bool {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", r.Settings.Temporal)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// TemporalReady returns a *TemporalFault when Temporal does not answer, or our workers do not poll it.
func (r *Runtime) TemporalReady(ctx context.Context) error {
	if _, err := r.client.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return temporalFault(err, r.Settings.Namespace)
	}
	switch fault := r.workersFault.Load(); {
	case r.workersUp.Load():
		return nil
	case fault != nil:
		return fault
	}
	return errNoWorkers
}
