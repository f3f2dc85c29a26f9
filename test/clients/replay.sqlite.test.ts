// Requests that official clients made, recorded by run.test.ts, made again: the sources of those clients are not to be had everywhere.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareTeam, startClientScene, type ClientScene } from './fixtures.ts';
import { fillIn, hasField, readRecording } from './recordings.ts';

const RECORDINGS = readdirSync(path.join(import.meta.dirname, 'recorded')).map((file) => path.parse(file).name);

let clientScene: ClientScene;

describe('recorded requests of official clients', () => {
  beforeAll(async () => {
    clientScene = await startClientScene();
  });
  afterAll(() => clientScene[Symbol.asyncDispose]());

  it.each(RECORDINGS)('%s gets the status and the fields it reads', async (name) => {
    const { requests } = readRecording(name);
    const { team, fixtures } = await prepareTeam(clientScene);
    const answers: unknown[] = [];
    const faults: string[] = [];
    for (const request of requests) {
      const { call, method, path: at, headers, body, status, reads } = request;
      const target = fillIn(at, fixtures, answers, encodeURIComponent);
      const text =
        body === undefined
          ? undefined
          : fillIn(typeof body === 'string' ? body : JSON.stringify(body), fixtures, answers);
      const answer = await clientScene.scene.api(method, target, { key: team.key, body: text, headers });
      answers.push(answer.body);
      const said = `${call}: ${method} ${target} ${text ?? ''} -> ${answer.status} ${answer.text}`;
      if (answer.status !== status) faults.push(`${said}, and not ${status}`);
      const missing = reads.filter((field) => hasField(answer.body, field) === false);
      if (missing.length > 0) faults.push(`${said} lacks ${missing.join(', ')}`);
    }
    expect(faults).toEqual([]);
    expect(answers.length).toBeGreaterThan(0);
  });
});
