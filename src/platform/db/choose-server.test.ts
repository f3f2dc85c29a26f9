import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseServer, ServerMemory, type Choice, type ServerAnswer, type ServerIdentity } from './choose-server.ts';

function answer(host: string, facts: Partial<ServerIdentity> = {}): ServerAnswer {
  return {
    host: { host, port: '' },
    identity: { system: 'one', timeline: 1, startedAt: host, isStandby: false, isReadOnly: false, ...facts },
  };
}

const STANDBY = { isStandby: true, isReadOnly: true, timeline: undefined };

function choose(
  answers: ServerAnswer[],
  { memory = new ServerMemory(), inUse }: { memory?: ServerMemory; inUse?: ServerAnswer } = {},
): Pick<Choice, 'alsoWritable'> & { chosen: string | undefined } {
  const { chosen, alsoWritable } = chooseServer(answers, { memory, inUse: inUse?.identity, target: 'read-write' });
  return { chosen: chosen?.host.host, alsoWritable };
}

describe('the server that is used', () => {
  it('the server that is used is the one that accepts writes', () => {
    expect(choose([answer('a', STANDBY), answer('b')])).toEqual({ chosen: 'b', alsoWritable: [] });
    expect(choose([answer('a', { isReadOnly: true }), answer('b', STANDBY)])).toEqual({
      chosen: undefined,
      alsoWritable: [],
    });
  });

  it('the server that is used is the one that was promoted last, and a former primary is reported', () => {
    const answers = [answer('a'), answer('b', { timeline: 2 })];
    expect(choose(answers)).toEqual({ chosen: 'b', alsoWritable: ['a'] });
    expect(choose(answers, { inUse: answer('a') })).toEqual({ chosen: 'b', alsoWritable: ['a'] });
  });

  it('no server is used if two are on the same timeline, unless one of them is in use', () => {
    const answers = [answer('a'), answer('b')];
    expect(choose(answers)).toEqual({ chosen: undefined, alsoWritable: ['a', 'b'] });
    expect(choose(answers, { inUse: answer('b') })).toEqual({ chosen: 'b', alsoWritable: ['a'] });
    const restarted = answer('b', { startedAt: 'later' });
    expect(choose([answer('a'), restarted], { inUse: answer('b') }).chosen).toBeUndefined();
  });

  it('no server is used if two cannot be compared', () => {
    expect(choose([answer('a'), answer('b', { system: 'two', timeline: 7 })]).chosen).toBeUndefined();
    expect(choose([answer('a', { timeline: undefined }), answer('b', { timeline: 2 })]).chosen).toBeUndefined();
  });

  it('the server that is used may have two names', () => {
    expect(choose([answer('a', { startedAt: 'then' }), answer('b', { startedAt: 'then' })])).toEqual({
      chosen: 'a',
      alsoWritable: [],
    });
  });

  it('a former primary is never used, also when no other server answers', () => {
    const memory = new ServerMemory();
    memory.note(answer('b', { timeline: 2 }).identity);
    expect(choose([answer('a')], { memory }).chosen).toBeUndefined();
    expect(choose([answer('a', { timeline: 3 })], { memory }).chosen).toBe('a');
  });

  it('a server of another cluster than before is not used, as long as the process runs', () => {
    const memory = new ServerMemory();
    memory.note(answer('a').identity);
    expect(choose([answer('b', { system: 'two', timeline: 7 })], { memory }).chosen).toBeUndefined();
  });
});

describe('the newest timeline', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-timeline-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('the newest timeline is remembered by the next process once it is kept, and a new cluster is accepted', () => {
    const file = path.join(folder, 'timeline.json');
    const first = new ServerMemory(file);
    first.note(answer('a', { timeline: 2 }).identity);
    expect(new ServerMemory(file).findFault(answer('a').identity, { isOneOfSeveral: true })).toBeUndefined();
    first.keep();
    const next = new ServerMemory(file);
    expect(next.findFault(answer('a').identity, { isOneOfSeveral: false })).toContain(`remove ${file}`);
    expect(next.findFault(answer('a', { timeline: 2 }).identity, { isOneOfSeveral: true })).toBeUndefined();
    expect(next.findFault(answer('b', { system: 'two' }).identity, { isOneOfSeveral: true })).toBeUndefined();
    next.keep();
    next.note(answer('b', { system: 'two' }).identity);
    expect(new ServerMemory(file).findFault(answer('a').identity, { isOneOfSeveral: true })).toBeUndefined();
  });

  it('the newest timeline is kept in memory if the file cannot be written', () => {
    const memory = new ServerMemory(path.join(folder, 'missing', 'timeline.json'));
    memory.keep();
    memory.note(answer('a', { timeline: 2 }).identity);
    expect(memory.findFault(answer('a').identity, { isOneOfSeveral: false })).toContain('former primary');
  });
});
