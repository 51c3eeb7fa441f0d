package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
)

const (
	// patienceWithAnswers is how long a persistent load waits for an answer: a node that is frozen gives none.
	patienceWithAnswers = 10 * time.Second
	betweenTries        = 100 * time.Millisecond
)

// line is a connection on which exports are sent to a node of a flow, and to the others when that is away.
type line struct {
	flow *flow
	load flowLoad
	home int // the node that it leads to as long as that answers
	node int
	id   string // begins its UUIDs
	sent int
	*sender
}

// connect connects to a node.
func (f *flow) connect(home int, l flowLoad) (*line, error) {
	c := &line{flow: f, load: l, home: home % len(f.nodes), node: home, id: rand.Text()}
	return c, c.dial()
}

func (c *line) dial() (err error) {
	c.sender, err = dial(c.flow.nodes[c.node%len(c.flow.nodes)].address, signed(c.load.body), 1)
	return err
}

func (c *line) close() {
	if c.sender != nil {
		c.sender.close()
		c.sender = nil
	}
}

// sendExport sends an export of a tenant, and returns its UUID and how long its acknowledgement took. A persistent load
// sends it until it is acknowledged, or the load ends: then ok is false.
func (c *line) sendExport(tenant string) (uuid string, took time.Duration, ok bool, err error) {
	c.sent++
	uuid = fmt.Sprintf("%s-%d", c.id, c.sent)
	for {
		status := 0
		if took, status, err = c.try(tenant, uuid); err == nil && status == http.StatusAccepted {
			return uuid, took, true, nil
		}
		if err == nil && c.load.persistent && status == http.StatusOK { // it was acknowledged, and the answer was lost
			return uuid, took, true, nil
		}
		if err == nil {
			err = fmt.Errorf("an export was answered %d", status)
			if status != http.StatusServiceUnavailable {
				return uuid, took, false, err
			}
		}
		if !c.load.persistent {
			return uuid, took, false, err
		}
		if c.load.ended() {
			return uuid, took, false, nil
		}
		c.close()
		c.node++
		time.Sleep(betweenTries)
	}
}

func (c *line) try(tenant, uuid string) (took time.Duration, status int, err error) {
	if c.load.persistent && c.sent%100 == 0 && c.node%len(c.flow.nodes) != c.home { // as a load balancer whose node came back
		c.close()
		c.node = c.home
	}
	if c.sender == nil {
		if err := c.dial(); err != nil {
			return 0, 0, err
		}
	}
	conn := c.connections[0]
	if c.load.persistent {
		conn.SetDeadline(time.Now().Add(patienceWithAnswers))
	}
	body := c.load.body
	if c.load.documented != nil {
		if c.sent%5 == 0 {
			body = c.load.documented
		}
		c.headers = signed(body) + contentType
	}
	return c.send(conn, "/hooks/"+tenant, uuid, body)
}
