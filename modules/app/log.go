package app

import (
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// latestLog logs through the log that latest returns at that moment. It is for all that outlives a configuration: the
// outputs and levels of a configuration's log end with the configuration.
func latestLog(latest func() *zap.Logger) *zap.Logger { return zap.New(latestCore{latest: latest}) }

type latestCore struct {
	latest func() *zap.Logger
	fields []zapcore.Field
}

func (c latestCore) core() zapcore.Core { return c.latest().Core() }

func (c latestCore) Enabled(l zapcore.Level) bool { return c.core().Enabled(l) }

func (c latestCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = slices.Concat(c.fields, fields)
	return c
}

func (c latestCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) {
		return checked
	}
	return checked.AddCore(e, c)
}

// Write checks the entry against the core again: a configured log may exclude entries by the name of their logger.
func (c latestCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if checked := c.core().Check(e, nil); checked != nil {
		checked.Write(slices.Concat(c.fields, fields)...)
	}
	return nil
}

func (c latestCore) Sync() error { return c.core().Sync() }
