// a development server that is stopped and started elsewhere --> the console goes on with it
import net from 'node:net';
import { expect, it } from 'vitest';
import { Desk } from '../cli/desk.ts';
import { describeAtTerminal, Seat } from './seat.ts';

describeAtTerminal('a development server that comes back on another port', () => {
  it('is found by the console, which goes on where it was', { timeout: 120_000 }, async () => {
    await using desk = new Desk();
    const database = await desk.database();
    const start = () => desk.serve(['dev', '--data', 'dev'], { env: database });
    const before = await start();
    const mail = ['--from', 'hello@playground.test', '--to', 'ada@example.org', '--subject', 'Kept', '--text', 'Hi'];
    const sent = await desk.rasket(['send', ...mail], { env: { RASKET_DATA: desk.at('dev') } });
    expect(sent, sent.stderr).toMatchObject({ code: 0 });
    const env = { RASKET_DATA: desk.at('dev'), RASKET_URL: undefined, RASKET_API_KEY: undefined };
    await using seat = await Seat.take({ url: '', key: '', columns: 100, env });
    await seat.sees('✓ connected', before.url);
    await seat.press('2');
    await seat.sees(/^› .*Kept/m);
    await before.stop();
    await seat.sees('✗ no answer since', 'Kept');
    // Somebody else has its port by now.
    const other = net.createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => void other.listen(Number(new URL(before.url).port), '127.0.0.1', resolve));
    const after = await start();
    expect(after.url).not.toBe(before.url);
    await seat.sees('✓ connected', after.url, /^› .*Kept/m);
    await seat.press('4');
    await seat.sees(/^ keys/m, 'rk_');
    await seat.press('c');
    await seat.sees('create: issue a key');
    await seat.type('Made there');
    await seat.press('C-s');
    await seat.sees('This is the only time the key is shown');
    other.close();
  });
});
