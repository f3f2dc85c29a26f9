import { sweepBlobs } from '../../src/features/installation/start.ts';
import { dataFolder, onSameFolder, readConfig, withStore, type CommandAudit, type DataOptions } from './open.ts';

const AUDIT: CommandAudit = { action: 'storage.swept', always: true };

/** Counts the blobs that no email needs, and removes them on request. */
export async function sweep(options: DataOptions & { yes?: boolean; json?: boolean }): Promise<void> {
  const remove = options.yes ?? false;
  const swept = await withStore(readConfig(options), dataFolder(options), (store) => sweepBlobs(store, { remove }), {
    ...(remove ? { audit: AUDIT } : {}),
  });
  const { looked, orphans, removed } = swept;
  if (options.json) console.log(JSON.stringify(swept));
  else if (orphans === 0) console.log(`All content belongs to an email (${looked} folders older than a day).`);
  else if (remove) console.log(`Removed ${removed} of ${looked} folders of content, which belonged to no email.`);
  else {
    const line = await onSameFolder('rasket sweep', options, '--yes');
    console.log(
      `${orphans} of ${looked} folders of content belong to no email. If this is the right database, remove them with: ${line}`,
    );
  }
}
