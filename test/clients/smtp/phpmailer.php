<?php

/* Submits one message with an attachment, and one each to as many recipients as the arguments after the first say. */

declare(strict_types=1);

require '/usr/share/php/libphp-phpmailer/autoload.php';

use PHPMailer\PHPMailer\PHPMailer;

$settings = json_decode($argv[1], true);

function connect(array $settings, string $encryption): PHPMailer
{
    $mail = new PHPMailer(true);
    $mail->isSMTP();
    $mail->Host = '127.0.0.1';
    $mail->Port = $encryption === PHPMailer::ENCRYPTION_STARTTLS ? $settings['port'] : $settings['tls_port'];
    $mail->SMTPAuth = true;
    $mail->Username = 'resend';
    $mail->Password = $settings['key'];
    $mail->SMTPSecure = $encryption;
    $mail->SMTPOptions = ['ssl' => ['verify_peer' => false, 'verify_peer_name' => false, 'allow_self_signed' => true]];
    $mail->CharSet = 'utf-8';
    $mail->setFrom($settings['from'], 'Acme');
    $mail->Body = 'Grüße';
    return $mail;
}

$one = connect($settings, PHPMailer::ENCRYPTION_STARTTLS);
$one->addAddress('x@example.net');
$one->addBCC('b@example.net');
$one->Subject = 'one file';
$one->addStringAttachment('a file', 'file.bin');
$one->send();
foreach (array_slice($argv, 2) as $count) {
    $many = connect($settings, PHPMailer::ENCRYPTION_STARTTLS);
    $many->Subject = "to $count";
    for ($n = 0; $n < (int) $count; $n++) {
        $many->addAddress("r$n@example.net");
    }
    $many->send();
}
$over = connect($settings, PHPMailer::ENCRYPTION_SMTPS);
$over->addAddress('x@example.net');
$over->Subject = 'over TLS';
$over->send();
