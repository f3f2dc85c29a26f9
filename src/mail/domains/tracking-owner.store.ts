import type { Executor } from '../../platform/db/index.ts';
import type { DomainRow } from './domain-rows.ts';

/** Whose tracked links they are, and where they work. */
export interface TrackingOwner {
  domainId: string;
  /** False while its team is suspended, and once another team holds the name. */
  isLive: boolean;
  /** The present one first, then those it had before, each until its time. */
  hosts: { name: string; until: number | null }[];
}

type Row = Pick<DomainRow, 'id' | 'name' | 'tracking_subdomain' | 'former_tracking_subdomains'> & { is_live: number };

const SELECT = `select d.id, d.name, d.tracking_subdomain, d.former_tracking_subdomains,
    case when t.risk_state <> 'suspended' and not exists (select 1 from domains o
      where o.name = d.name and o.team_id <> d.team_id and o.held_at is not null) then 1 else 0 end as is_live
  from domains d join teams t on t.id = d.team_id`;

export async function trackingOwner(db: Executor, domainId: string): Promise<TrackingOwner | undefined> {
  const row = await db.get<Row>(`${SELECT} where d.id = ?`, [domainId]);
  return row && ownerOf(row);
}

/** The hosts that lead readers to us by the last look at their DNS, of verified domains of teams that may send. */
export async function trackingHosts(db: Executor): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    `select distinct r.name from domain_records r join domains d on d.id = r.domain_id join teams t on t.id = d.team_id
      where r.record = 'Tracking' and r.status = 'verified' and d.held_at is not null
      and (d.open_tracking = 1 or d.click_tracking = 1) and t.risk_state <> 'suspended' order by r.name`,
  );
  return rows.map(({ name }) => name.toLowerCase());
}

/** The domain of that name where all domains are of one team: no team's name can be abused by another there. */
export async function trackingOwnerAlone(db: Executor, name: string): Promise<TrackingOwner | undefined> {
  const row = await db.get<Row>(`${SELECT} where d.name = ? and (select count(distinct team_id) from domains) = 1`, [
    name,
  ]);
  return row && ownerOf(row);
}

/** Whether readers reach a verified domain of another team by this host. */
export async function isTrackingHostOfOthers(
  db: Executor,
  { host, teamId, now }: { host: string; teamId: string; now: number },
): Promise<boolean> {
  const domain = host.slice(host.indexOf('.') + 1);
  const rows = await db.all<Row>(`${SELECT} where d.name = ? and d.team_id <> ? and d.held_at is not null`, [
    domain,
    teamId,
  ]);
  return rows
    .flatMap((row) => ownerOf(row).hosts)
    .some(({ name, until }) => name === host && (until === null || now < until));
}

function ownerOf(row: Row): TrackingOwner {
  const former = readFormerSubdomains(row);
  return {
    domainId: row.id,
    isLive: row.is_live === 1,
    hosts: [{ label: row.tracking_subdomain, until: null }, ...former].map(({ label, until }) => ({
      name: `${label}.${row.name}`,
      until,
    })),
  };
}

export interface FormerSubdomain {
  label: string;
  until: number;
}

export const readFormerSubdomains = (row: Pick<DomainRow, 'former_tracking_subdomains'>): FormerSubdomain[] =>
  row.former_tracking_subdomains === null ? [] : (JSON.parse(row.former_tracking_subdomains) as FormerSubdomain[]);
