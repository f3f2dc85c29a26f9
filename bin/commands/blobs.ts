import { copyAllBlobs, openBlobs, type Blobs } from '../../src/platform/blobs/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { lockDataFolder } from '../../src/platform/db/index.ts';
import type { Store } from '../../src/platform/store/index.ts';
import { liveNodes } from '../../src/resources/findings/index.ts';
import { installationOf } from '../../src/resources/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, withStore, type CommandAudit, type DataOptions } from './open.ts';

export interface MoveOptions extends DataOptions {
  to: string;
  json?: boolean;
}

type StoreName = Config['blobs']['store'];

/** Takes all content to the other store while nothing runs. Called again after a kill, it copies only what is not there yet. */
export async function moveBlobs(options: MoveOptions): Promise<void> {
  const { to } = options;
  if (to !== 's3' && to !== 'files') throw new OperatorFault(`--to must be s3 or files; got ${JSON.stringify(to)}`);
  const given = readConfig(options);
  mustNameStore(given.blobs);
  const audit: CommandAudit = { action: 'storage.moved', always: true, details: { to } };
  const source = withBlobs(given, to === 's3' ? 'files' : 's3');
  const work = (store: Store): Promise<void> => move(store, withBlobs(given, to), options);
  await withStore(source, dataFolder(options), work, { audit });
}

const withBlobs = (config: Config, store: StoreName): Config => ({ ...config, blobs: { ...config.blobs, store } });

/** Also where the settings still say "files", so that nothing else asks for them. */
function mustNameStore({ endpoint, bucket, access_key, secret_key, secret_key_file }: Config['blobs']): void {
  const secret = secret_key || secret_key_file;
  const missing = Object.entries({ endpoint, bucket, access_key, secret_key: secret })
    .filter(([, value]) => value === '')
    .map(([name]) => `blobs.${name}`);
  if (missing.length === 0) return;
  throw new OperatorFault(`the settings do not say which store it is: ${missing.join(', ')} must be set`);
}

async function move(store: Store, { blobs: settings }: Config, { json }: MoveOptions): Promise<void> {
  const { clock, dataDir, db, random } = store;
  const letGo = db.dialect === 'sqlite' ? lockDataFolder(dataDir) : undefined;
  const target = openBlobs(settings, { dataDir, now: () => clock.now(), random });
  try {
    await mustBeAlone(store);
    const id = await installationOf(store);
    await mustBeOurs(target, id);
    const sum = await copyAllBlobs(store.blobs, target);
    // From here on the settings of before are refused at a start, and no mail is stored where no node looks for it.
    if ((await target.writeMark(id)) !== id) throw otherInstallation(target);
    await store.blobs.removeMark();
    if (json) return console.log(JSON.stringify({ from: store.blobs.place, to: target.place, ...sum }));
    console.log(
      `${target.place} holds all content: ${sum.copied} copied, ${sum.found} there before, ${sum.bytes} bytes, each compared.`,
    );
    console.log(
      `Set blobs.store to "${settings.store}" on every node, then start them. ${store.blobs.place} can be removed.`,
    );
  } finally {
    await target.close();
    letGo?.();
  }
}

async function mustBeAlone(store: Store): Promise<void> {
  if (store.db.dialect === 'sqlite') return;
  const [node] = await liveNodes(store);
  if (!node) return;
  throw new OperatorFault(
    `${node.name} runs on this database; stop all nodes first: one that was killed is forgotten after two minutes`,
  );
}

async function mustBeOurs(target: Blobs, id: string): Promise<void> {
  const found = await target.readMark();
  if (found !== undefined && found !== id) throw otherInstallation(target);
}

const otherInstallation = ({ place }: Blobs): OperatorFault =>
  new OperatorFault(`${place} belongs to another installation; nothing was changed`);
