import type { Client } from '../../cli/client/index.ts';
import { clean } from '../../cli/output/index.ts';
import { ChooseDialog, type Choice } from '../dialogs/choose-dialog.ts';
import type { ThreadRow } from '../draw/thread.ts';
import type { Host } from './screen.ts';

interface Labelled {
  inbox: string;
  row: ThreadRow;
  done: () => void;
}

/** The labels of the inbox, those of the thread marked; one is put on or taken off. */
export async function chooseLabels(host: Host, signal: AbortSignal, { inbox, row, done }: Labelled): Promise<void> {
  const { client } = host;
  const dialog = new ChooseDialog(`Labels: ${clean(row.subject ?? '')}`);
  host.dialog = dialog;
  const leave = (): void => {
    if (host.dialog === dialog) host.dialog = undefined;
  };
  try {
    const { data } = await client.call('listInboxLabels', { path: { inbox } }, signal);
    // A user who has gone on to something else is not interrupted.
    if (host.dialog !== dialog) return;
    if (data.length === 0) {
      leave();
      return host.say('This inbox has no labels yet: q is back in the list of inboxes, where n creates one.');
    }
    const choices = data.map(({ id, name }): Choice => {
      const isOn = row.labels.some((one) => one.id === id);
      const choose = (): void => {
        host.dialog = undefined;
        void change(client, { inbox, thread_id: row.id }, { id, isOn })
          .then(() => host.say(`${isOn ? 'Taken off' : 'Labelled'}  ${clean(name)}`))
          .catch((error: unknown) => host.sayFault(error))
          .then(done);
      };
      return { label: name, isOn, choose };
    });
    dialog.begin(choices);
    host.changed();
  } catch (error) {
    leave();
    if (!signal.aborted) host.sayFault(error);
  }
}

const change = (
  client: Client,
  path: { inbox: string; thread_id: string },
  { id, isOn }: { id: string; isOn: boolean },
): Promise<unknown> =>
  isOn
    ? client.call('removeInboxThreadLabel', { path: { ...path, label_id: id } })
    : client.call('addInboxThreadLabels', { path, body: { labels: [id] } });
