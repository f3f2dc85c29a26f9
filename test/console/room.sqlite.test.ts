// the console on a wide terminal: the row in hand beside its list, the order of rows, ids by their ends
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { Screen } from './screen.ts';

describe('the console on a wide terminal', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await makeBelievableTeam(scene);
    seat = await Screen.take({ url: scene.url, key: team.key, columns: 140, rows: 40 });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    await seat.sees(...sees);
  };
  const ask = async (path: string) => (await scene.api('GET', path, { key: team.key })).body;

  it('shows the selected row next to the list, follows the selection and keeps its tab', async () => {
    await go('emails', /^› .*Your invoice .*│/m, /│.*550 5\.1\.1 No such user/);
    await seat.press('j');
    await seat.sees(/^› .*Your receipt .*│/m, /│ +Your receipt/, /│.*ada@example\.org: delivered/);
    await seat.press('Tab', 'Tab');
    await seat.sees(/│.*\[text\]/, /│ +See you\./);
    await seat.press('k');
    await seat.sees(/^› .*Your invoice .*│/m, /│.*\[text\]/, /│ +See you\./);
    // Opened on that side, with its list still beside it.
    await seat.press('Enter');
    await seat.sees('emails › Your invoice', /^› .*Your invoice .*│ +.*\[text\]|\[text\]/m, /^ {2}.*Your receipt .*│/m);
    await seat.press(']');
    await seat.sees('emails › Your receipt', /^› .*Your receipt/m);
    await seat.press('Escape');
    await seat.sees(/^ emails +\d+\/2$/m);
  });

  it('shows only one pane when the terminal is narrow, and loads nothing for the other', async () => {
    await seat.resize(119, 40);
    await seat.sees(/^(?![^]*│)/);
    await seat.resize(140, 40);
    await seat.sees(/│.*\[text\]/);
  });

  it('shows each row on one line next to the details at 120 columns, and wraps values below themselves', async () => {
    await seat.resize(120, 40);
    await go('emails', /^ {2}CREATED .*STATE .*TO .*SUBJECT +│|^ {2}STATE .*TO .*SUBJECT +│/m);
    await seat.sees(
      /^› .*✗ bounced .*permfail@example\.org .*Your inv.*│/m,
      /^ {2}.*✓ delivered .*ada@example\.org .*Your rec.*│/m,
    );
    await go('webhooks', /^› .*hooks\.example.*│/m, /\[events\]/);
    await seat.press('Tab');
    await seat.sees(/│ +Id +wh_[0-9a-f]{32}/, /│ +Endpoint +https:\/\/hooks\.example\.com\/rasket/);
    await seat.press('BTab');
    await seat.sees(/\[events\]/);
    await seat.resize(140, 40);
  });

  it('follows the open item and the list next to it', async () => {
    await go('emails', /^› .*Your invoice/m);
    await seat.press('Enter');
    await seat.sees('emails › Your invoice');
    const body = { from: 'hello@mail.example.com', to: 'ada@example.org', subject: 'While here', text: 'T' };
    await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    // The open email stays selected, though another is the first now.
    await seat.sees(/^ {2}.*While here.*│/m, /^› .*Your invoice/m);
    await seat.press('Escape');
  });

  it('sorts rows by a column, marks its title, and reverses the order', async () => {
    await go('emails', /^› .*│/m);
    await seat.press('<');
    await seat.sees(/ID ↑|SUBJECT ↑/);
    await seat.press('>');
    await seat.sees(/^(?![^]*[↑↓] )/);
    for (let columns = 0; columns < 4 && !/SUBJECT ↑/.test(await seat.frame()); columns++) await seat.press('>');
    await seat.sees(/^ emails +by subject · \d+\/3$/m, /While here[^]*Your invoice[^]*Your receipt/);
    await seat.press('=');
    await seat.sees('SUBJECT ↓', /^› .*Your receipt/m);
  });

  it('opens an item by the end of its id, as tables show it', async () => {
    const [{ id }] = (await ask('/emails?search=receipt')).data;
    await go(`emails ${id.slice(-8)}`, 'emails › Your receipt');
    await go('emails 00000000', 'No item has the id 00000000');
  });

  it('offers to enable a disabled endpoint for a replay, and does both', async () => {
    const [{ id }] = (await ask('/webhooks')).data;
    await scene.api('PATCH', `/webhooks/${id}`, { key: team.key, body: { status: 'disabled' } });
    await go('webhooks', /^› ✗ disabled/m);
    await seat.press('Enter');
    // It says first what to do about that.
    await seat.sees('webhooks › https://hooks.example.com/rasket', /\[details\]/, 'Enable it with');
    await seat.press('h');
    await seat.sees(/\[events\]/, /^› \d\d-\d\d .*email\.sent/m);
    await seat.press('e');
    await seat.sees('y confirm');
    await seat.press('y');
    await seat.sees('is disabled and receives no events. Enable it, and send the event again?');
    expect((await ask(`/webhooks/${id}`)).status).toBe('disabled');
    await seat.press('y');
    await seat.sees('Replayed  email.sent');
    expect((await ask(`/webhooks/${id}`)).status).toBe('enabled');
    await seat.press('Escape');
  });

  it('shows metrics as a screen, over four periods', async () => {
    await go('metrics', /\[7 days\]/, /┤/, /sent +3 /, /mail\.example\.com +3 /);
    await seat.press('Right');
    await seat.sees(/\[28 days\]/, 'one bar per day', /sent +3 /);
    await seat.press('Left', 'Left');
    await seat.sees(/\[24 hours\]/, 'one bar per hour', /bounced +1 +33\.33 %/);
  });

  it('shows the number of contacts of a segment in the list', async () => {
    const [{ id }] = (await ask('/segments')).data;
    await scene.api('POST', `/contacts/ada@example.org/segments/${id}`, { key: team.key });
    await go('segments', /NAME +CREATED|CONTACTS/, /^› Customers.* 1 +1 +0/m);
  });
});
