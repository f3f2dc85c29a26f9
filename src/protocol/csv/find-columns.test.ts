import { describe, expect, it } from 'vitest';
import { findColumns, type ColumnMap } from './find-columns.ts';

/** Returns what each column of a header is imported as. */
function read(header: string[], map?: ColumnMap, keys: string[] = []): Record<string, string> | string {
  const found = findColumns(header, map, keys);
  if (!found.ok) return found.fault;
  return Object.fromEntries(found.imported.map(({ name, field }) => [name ?? '', field]));
}

describe('findColumns', () => {
  it.each([
    ['English', 'E-Mail Address', 'First name', 'Surname', 'Opted out', 'Time zone'],
    ['German', 'E-Mail-Adresse', 'Vorname', 'Nachname', 'abgemeldet', 'Zeitzone'],
    ['French', 'Adresse e-mail', 'Prénom', 'Nom', 'Désabonné', 'Fuseau horaire'],
    ['French without accents', 'COURRIEL', 'PRENOM', 'NOM DE FAMILLE', 'DESINSCRIT', 'FUSEAU HORAIRE'],
    ['Spanish', 'Correo electrónico', 'Nombre', 'Apellidos', 'Dado de baja', 'Zona horaria'],
    ['Italian', 'Indirizzo e-mail', 'Nome', 'Cognome', 'Disiscritto', 'Fuso orario'],
    ['Portuguese', 'Endereço de e-mail', 'Primeiro nome', 'Sobrenome', 'Descadastrado', 'Fuso horário'],
    ['Dutch', 'E-mailadres', 'Voornaam', 'Achternaam', 'Uitgeschreven', 'Tijdzone'],
    ['Polish', 'Adres e-mail', 'Imię', 'Nazwisko', 'Wypisany', 'Strefa czasowa'],
    ['Swedish', 'E-postadress', 'Förnamn', 'Efternamn', 'Avregistrerad', 'Tidszon'],
    ['Japanese', 'メールアドレス', '名', '姓', '配信停止', 'タイムゾーン'],
  ])('recognizes the %s names of the fields and of a declared property timezone', (_, ...header) => {
    const [email = '', first = '', last = '', out = '', zone = ''] = header;
    expect(read(header, undefined, ['timezone'])).toEqual({
      [email]: 'email',
      [first]: 'first_name',
      [last]: 'last_name',
      [out]: 'unsubscribed',
      [zone]: 'properties.timezone',
    });
  });

  it.each([
    'created',
    'Erstellt am',
    'Créé le',
    'Fecha de creación',
    'Creato il',
    'Criado em',
    'Aangemaakt op',
    'Data utworzenia',
    'Skapad',
    '登録日',
  ])('recognizes %s as the property created_at if it is declared, and not otherwise', (name) => {
    expect(read(['email', name], undefined, ['created_at'])).toEqual({
      email: 'email',
      [name]: 'properties.created_at',
    });
    expect(read(['email', name])).toEqual({ email: 'email' });
  });

  it('recognizes the other columns if a map names one property', () => {
    const map = { properties: { tariff: { column: 'Tarif' } } };
    expect(read(['E-Mail', 'Vorname', 'Tarif', 'plan'], map, ['plan'])).toEqual({
      'E-Mail': 'email',
      Vorname: 'first_name',
      Tarif: 'properties.tariff',
      plan: 'properties.plan',
    });
  });

  it('imports a column only as what the map says, and no column for a field that the map says is null', () => {
    const map = { first_name: 'Rufname', last_name: null, properties: { nick: { column: 'Vorname' }, plan: null } };
    expect(read(['E-Mail', 'Vorname', 'Nachname', 'Rufname', 'plan'], map, ['plan'])).toEqual({
      'E-Mail': 'email',
      Vorname: 'properties.nick',
      Rufname: 'first_name',
    });
  });

  it('finds the addresses in a column that a map names for a property, if there is no other', () => {
    expect(findColumns(['E-Mail'], { properties: { contact: { column: 'E-Mail' } } }, [])).toMatchObject({
      columns: { email: 0, properties: { contact: 0 } },
    });
  });

  it('prefers the key of a declared property to a recognized name', () => {
    expect(read(['email', 'tz', 'Timezone'], undefined, ['timezone'])).toEqual({
      email: 'email',
      Timezone: 'properties.timezone',
    });
  });

  it('leaves out two columns of a recognized name if there is a map, and refuses them if there is none', () => {
    const header = ['email', 'First name', 'first_name', 'plan'];
    expect(read(header, { properties: { plan: { column: 'plan' } } })).toEqual({
      email: 'email',
      first_name: 'first_name',
      plan: 'properties.plan',
    });
    const twice = ['email', 'Vorname', 'VORNAME'];
    expect(read(twice, { email: 'email' })).toEqual({ email: 'email' });
    expect(read(twice)).toBe('the header has two columns called "Vorname"; rename one of them');
    expect(read(['E-Mail', 'e-mail'], { first_name: null })).toContain('two columns called "E-Mail"');
  });

  it('never imports the columns that a file of failed rows has for row and reason', () => {
    expect(read(['email', 'rasket_row', 'rasket_reason'], undefined, ['rasket_row', 'rasket_reason'])).toEqual({
      email: 'email',
    });
  });
});
