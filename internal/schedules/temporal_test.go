package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/submission"
)

const (
	taskTime   = 10 * time.Second // of a worker for a task of a workflow, after which another has it
	heartbeats = 10 * time.Second // after which a silent activity counts as dead
	interval   = 30 * time.Second // before it runs again
	safetyNet  = 5 * time.Minute
	// submissionTime is how long a workflow of a submission runs at most.
	submissionTime = 9 * time.Minute
)

// server is the model of a Temporal server: workflows by id, each with the activities that it waits for. What the gateway
// relies on is modelled as the real server does it: ids are never used twice, an activity that asks for a delay is run
// again after it, one whose worker dies after its heartbeats and its retry interval, and one of which no run has
// answered is given up when its options change.
type server struct {
	w    *world
	mu   sync.Mutex
	runs map[string]*execution
	away chan struct{} // closed: it answers
}

func newServer(w *world) *server {
	s := &server{w: w, runs: map[string]*execution{}, away: make(chan struct{})}
	close(s.away)
	return s
}

// execution is a workflow.
type execution struct {
	id, name string
	input    []byte
	ctx      context.Context // ends when it is terminated, or forgotten
	end      context.CancelFunc

	mu      sync.Mutex
	status  enums.WorkflowExecutionStatus
	result  []byte
	pending map[string]*pending
	inTask  bool // a worker has its task
	done    chan struct{}
}

// pending is an activity that a workflow waits for.
type pending struct {
	attempt  int32
	running  bool
	answered time.Time // when a run of it last answered; zero: none did
	next     time.Time // when it runs next
	interval time.Duration
	givenUp  bool
	moved    chan struct{} // next has changed
}

func (s *server) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.away:
		return false
	default:
		return true
	}
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.away:
		s.away = make(chan struct{})
	default:
	}
}

func (s *server) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.away:
	default:
		close(s.away)
	}
}

// present waits until the server is there.
func (s *server) present(ctx context.Context) bool {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	select {
	case <-away:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// empty forgets all workflows, as after a loss of Temporal's database.
func (s *server) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.runs {
		x.end()
	}
	clear(s.runs)
}

func (s *server) find(id string) (*execution, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.runs[id]
	return x, ok
}

func (x *execution) running() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// start begins a workflow. One id is not used twice, but for that of a redelivery of a range.
func (s *server) start(o client.StartWorkflowOptions, name string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, ok := s.runs[o.ID]; ok {
		if o.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE {
			return serviceerror.NewWorkflowExecutionAlreadyStarted("it is started already", "", "")
		}
		if x.running() {
			return nil
		}
	}
	input, err := json.Marshal(args[0])
	if err != nil {
		return err
	}
	x := &execution{id: o.ID, name: name, input: input, status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		pending: map[string]*pending{}, done: make(chan struct{})}
	x.ctx, x.end = context.WithCancel(s.w.ctx)
	s.runs[o.ID] = x
	s.w.group.Go(func() { s.execute(x) })
	return nil
}

// execute runs a workflow to its end.
func (s *server) execute(x *execution) {
	defer close(x.done)
	var result any
	var err error
	switch x.name {
	case export.WorkflowName:
		result, err = s.export(x)
	case redelivery.WorkflowName:
		var in redelivery.Input
		if err = json.Unmarshal(x.input, &in); err == nil {
			var res redelivery.Result
			err = s.activity(x, redelivery.RedeliverName, in, time.Now().Add(365*24*time.Hour), &res)
			result = res
		}
	case submission.WorkflowName:
		var in submission.Input
		if err = json.Unmarshal(x.input, &in); err == nil {
			var res submission.Result
			err = s.activity(x, submission.AttemptName, in, time.Now().Add(submissionTime), &res)
			result = res
		}
	default:
		err = errors.New("no such workflow: " + x.name)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.ctx.Err() != nil:
		x.status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	case err != nil:
		x.status = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	default:
		x.status = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		x.result, _ = json.Marshal(result)
	}
}

// export does what export.Workflow does.
func (s *server) export(x *execution) (res export.Result, err error) {
	var in export.Input
	if err := json.Unmarshal(x.input, &in); err != nil {
		return res, err
	}
	part := export.Part{Version: in.Version, Exports: in.Exports, Round: in.Round, To: in.To, Began: time.Now(), Till: in.DeliverTill}
	fetched := make(chan struct{})
	if in.Documents {
		s.w.group.Go(func() {
			defer close(fetched)
			_ = s.activity(x, export.FetchDocumentsName, part, in.DocumentsTill.Add(safetyNet), &res.Documents)
		})
		if in.Wait > 0 {
			select {
			case <-fetched:
			case <-time.After(in.Wait):
			case <-x.ctx.Done():
			}
		}
	} else {
		close(fetched)
	}
	if in.Local {
		first, err := s.first(x, part)
		if err != nil || first.Done {
			return export.Result{Deliveries: first.Deliveries}, err
		}
	}
	err = s.activity(x, export.DeliverName, part, in.DeliverTill.Add(safetyNet), &res.Deliveries)
	if res.Cut = err != nil; res.Cut {
		_ = s.activity(x, export.HandBackName, part, time.Now().Add(15*time.Minute), nil)
	}
	<-fetched
	return res, nil
}

// first has a node do the first run in the first task of a workflow. One that dies is followed by another once the task's
// time is over. What it answers is lost while the server is away; then the task is done again.
func (s *server) first(x *execution, part export.Part) (first export.First, err error) {
	x.set(&x.inTask, true)
	defer x.set(&x.inTask, false)
	for {
		n, ok := s.worker(x.ctx)
		if !ok {
			return first, x.ctx.Err()
		}
		began := time.Now()
		answer, err := n.run(x, export.FirstName, part, new(pending))
		switch {
		case err == nil && !s.isAway():
			return first, answer.Get(&first)
		case err != nil && !errors.Is(err, errDied):
			s.w.note("the first run of %s: %v", x.id, err)
			return first, nil
		}
		select {
		case <-time.After(time.Until(began.Add(taskTime))):
		case <-x.ctx.Done():
			return first, x.ctx.Err()
		}
	}
}

func (x *execution) set(which *bool, to bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	*which = to
}

var errGivenUp = errors.New("the activity was given up")

// activity has an activity run until it succeeds, or is given up.
func (s *server) activity(x *execution, name string, part any, end time.Time, result any) error {
	p := &pending{interval: interval, next: time.Now(), moved: make(chan struct{}, 1)}
	x.mu.Lock()
	x.pending[name] = p
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.pending, name)
	}()
	for {
		if err := x.await(p, end); err != nil {
			return err
		}
		n, ok := s.worker(x.ctx)
		if !ok {
			return x.ctx.Err()
		}
		x.mu.Lock()
		p.running = true
		p.attempt++
		x.mu.Unlock()
		answer, err := n.run(x, name, part, p)
		if !s.present(x.ctx) {
			return x.ctx.Err()
		}
		switch {
		case errors.Is(err, errDied):
			select {
			case <-time.After(heartbeats):
			case <-x.ctx.Done():
				return x.ctx.Err()
			}
			x.mu.Lock()
			p.running, p.next = false, time.Now().Add(p.interval)
			x.mu.Unlock()
			continue
		case err == nil:
			if result == nil {
				return nil
			}
			return answer.Get(result)
		}
		delay := p.interval
		if app := new(temporal.ApplicationError); errors.As(err, &app) && app.NextRetryDelay() > 0 {
			delay = app.NextRetryDelay()
		} else {
			s.w.note("activity %s of %s: %v", name, x.id, err)
		}
		x.mu.Lock()
		p.running, p.answered = false, time.Now()
		p.next = p.answered.Add(delay)
		x.mu.Unlock()
	}
}

// await waits until an activity is due. The error is that of the end of its workflow, or of its own.
func (x *execution) await(p *pending, end time.Time) error {
	for {
		x.mu.Lock()
		due, givenUp := time.Until(p.next), p.givenUp
		x.mu.Unlock()
		if givenUp || time.Now().After(end) {
			return errGivenUp
		}
		if due <= 0 {
			return x.ctx.Err()
		}
		select {
		case <-time.After(due):
		case <-p.moved:
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
	}
}

// worker returns the node that takes the next activity, and waits until there is one.
func (s *server) worker(ctx context.Context) (*node, bool) {
	for s.present(ctx) {
		if n := s.w.anyNode(); n != nil {
			return n, true
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, false
		}
	}
	return nil, false
}
