// smtp-source --> a real Postfix --> rasket serve (killed again and again): every 250 is there once, and none twice
import { spawn } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { installProgram } from '../fault/program.ts';
import { allReceived, receiveAt } from '../fault/received.ts';
import { createApi } from '../rig/api.ts';
import { startSink } from '../rig/sink.ts';
import { freePort } from '../rig/free-port.ts';
import { describePeers } from './peers.ts';
import { passingOn } from './postfix-config.ts';
import { startPostfix } from './postfix.ts';

const MESSAGES = 60;
const KILLS = 4;
const WAIT_MS = 120_000 + MESSAGES * 100;
/** A wait that fails is reported, with the log of Postfix, before the test times out. */
const LIMIT_MS = WAIT_MS + 60_000;

describePeers('a kill -9 while a real Postfix delivers mail to us', ['postfix', 'smtp-source'], () => {
  it('keeps each message with a 250 once, and all messages arrive in the end', { timeout: LIMIT_MS }, async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const port = await freePort();
    const env = {
      RASKET_SMTP_HOST: '127.0.0.1',
      RASKET_SMTP_MAX_CONNECTIONS_PER_ADDRESS: '100',
      RASKET_RECEIVING_PORTS: String(port),
      RASKET_RECEIVING_GREETING_DELAY_MS: '0',
      RASKET_RECEIVING_MESSAGES_PER_MINUTE_PER_ADDRESS: '1000000',
    };
    const program = await installProgram(sink, () => undefined, { env });
    await receiveAt(createApi(await program.listening()), program);
    await using postfix = await startPostfix({ settings: passingOn(port) });

    const [, domain = ''] = /@([^>]+)/.exec(program.from) ?? [];
    const source = spawn('smtp-source', [
      '-d',
      '-N',
      '-s',
      '8',
      '-l',
      '4000',
      '-m',
      String(MESSAGES),
      '-f',
      'a@example.org',
      '-t',
      `n@${domain}`,
      `inet:127.0.0.1:${postfix.port}`,
    ]);
    const ended = new Promise<number | null>((done) => source.once('exit', done));
    for (let kill = 1; kill <= KILLS; kill++) {
      await postfix.logged(/ status=sent /, Math.floor((MESSAGES * kill) / (KILLS + 1)), WAIT_MS);
      await program.kill();
      await program.start();
    }
    expect(await ended).toBe(0);
    const sent = await postfix.logged(/ status=sent /, MESSAGES, WAIT_MS);
    expect(sent).toHaveLength(MESSAGES);

    const there = await allReceived(createApi(await program.listening()), program.apiKey);
    const ids = there.map(({ id }) => id);
    const answered = sent.map((line) => /Stored as ([0-9a-f-]{36})/.exec(line)?.[1] ?? line);
    console.log(
      JSON.stringify({
        messages: MESSAGES,
        kills: KILLS,
        deferred: postfix.log().filter((line) => line.includes(' status=deferred ')).length,
        there: there.length,
      }),
    );
    expect(new Set(there.map((one) => one.message_id)).size).toBe(MESSAGES);
    expect([...answered].sort()).toEqual([...ids].sort());
    expect(there.filter((one) => one.dropped_reason !== null)).toEqual([]);
    await program.stop();
  });
});
