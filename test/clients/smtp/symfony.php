<?php

/* Submits one message with an attachment, and one each to as many recipients as the arguments after the first say. */

declare(strict_types=1);

require '/usr/share/php/Symfony/Component/Mailer/autoload.php';

use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport;
use Symfony\Component\Mime\Email;

$settings = json_decode($argv[1], true);

function connect(string $scheme, int $port, string $key): Mailer
{
    return new Mailer(Transport::fromDsn("$scheme://resend:" . urlencode($key) . "@127.0.0.1:$port?verify_peer=0"));
}

function makeEmail(string $from, string $subject): Email
{
    return (new Email())->from("Acme <$from>")->subject($subject)->text('Grüße')->html('<p>Grüße</p>');
}

$mailer = connect('smtp', $settings['port'], $settings['key']);
$mailer->send(makeEmail($settings['from'], 'one file')->to('x@example.net')->bcc('b@example.net')->attach('a file', 'file.bin'));
foreach (array_slice($argv, 2) as $count) {
    $addresses = array_map(fn (int $n): string => "r$n@example.net", range(0, (int) $count - 1));
    $mailer->send(makeEmail($settings['from'], "to $count")->to(...$addresses));
}
connect('smtps', $settings['tls_port'], $settings['key'])->send(makeEmail($settings['from'], 'over TLS')->to('x@example.net'));
