import { examineHere } from '../../src/features/installation/start.ts';
import { closeNet, withNet } from '../../src/open-world.ts';
import { locateCertificateFiles, examineCertificate } from '../../src/platform/server-tls.ts';
import type { Store } from '../../src/platform/store.ts';
import type { FindingsReport } from '../../src/features/installation/index.ts';
import { runningPid } from './ready-file.ts';

/** Examines the machine from this process instead of a server; a server that runs is examined as well. */
export async function examineInProcess(store: Store): Promise<FindingsReport['checks']> {
  const world = withNet(store);
  try {
    return await examineHere(world, { pid: runningPid(store.dataDir), tls: () => shownBy(store), isReceiving: false });
  } finally {
    closeNet(world);
  }
}

/** Returns the certificate that a server started now would present. */
function shownBy({ config, dataDir }: Store) {
  const files = locateCertificateFiles(config, dataDir);
  const { keys, startsAt, endsAt } = files ? examineCertificate(files) : {};
  if (!keys) return undefined;
  const status = { file: config.tls.certificate_file, isIssued: false, startsAt, endsAt, fault: undefined };
  return { current: () => keys, readStatus: () => status };
}
