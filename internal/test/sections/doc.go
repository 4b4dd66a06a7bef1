// Package sections makes docs/agent.schema.json: the JSON Schema of the head of an agent's file, with
// which editors complete and check it. Types come from the sections of the subsystems, descriptions
// from their comments.
package sections
