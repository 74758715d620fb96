"""One sentence in many languages."""
# ruff: noqa: RUF001 - signs of other scripts that look like Latin ones

PROSE = {
    "en": "The operator opens the valve, reads the pressure and writes it down before the pump is started again.",
    "de": "Der Bediener öffnet das Ventil, liest den Druck ab und schreibt ihn auf, bevor die Pumpe wieder läuft.",
    "fr": "L'opérateur ouvre la vanne, lit la pression et la note dans le registre avant que la pompe ne redémarre.",
    "es": "El operador abre la válvula, lee la presión y la anota en el libro antes de que la bomba vuelva a arrancar.",
    "it": "L'operatore apre la valvola, legge la pressione e la annota nel registro prima che la pompa riparta.",
    "pt": "O operador abre a válvula, lê a pressão e anota-a no livro antes de a bomba ser ligada outra vez.",
    "nl": "De bediener opent de klep, leest de druk af en schrijft die in het boek voordat de pomp weer wordt gestart.",
    "sv": "Operatören öppnar ventilen, läser av trycket och skriver in det i boken innan pumpen startas igen.",
    "da": "Operatøren åbner ventilen, aflæser trykket og skriver det ind i bogen, før pumpen bliver startet igen.",
    "fi": "Käyttäjä avaa venttiilin, lukee paineen ja kirjoittaa sen kirjaan ennen kuin pumppu käynnistetään.",
    "hu": "A kezelő kinyitja a szelepet, leolvassa a nyomást és beírja a könyvbe, mielőtt a szivattyút újraindítják.",
    "ru": "Оператор открывает клапан, считывает давление и записывает его в журнал, прежде чем насос снова запустят.",
    "el": "Ο χειριστής ανοίγει τη βαλβίδα, διαβάζει την πίεση και τη γράφει στο βιβλίο πριν ξεκινήσει ξανά η αντλία.",
    "tr": "Operatör vanayı açar, basıncı okur ve pompa yeniden çalıştırılmadan önce bunu deftere yazar.",
    "ar": "يفتح المشغل الصمام ويقرأ الضغط ويكتبه في الدفتر قبل أن يتم تشغيل المضخة مرة أخرى.",
    "hi": "संचालक वाल्व खोलता है, दबाव पढ़ता है और पंप को फिर से चालू करने से पहले उसे पुस्तक में लिखता है।",
    "zh": "操作员打开阀门，读取压力，并在再次启动水泵之前将其记入记录本。",
    "ja": "作業員はバルブを開けて圧力を読み取り、ポンプを再び始動する前に記録簿に書き込みます。",
    "ko": "작업자는 밸브를 열고 압력을 읽은 다음 펌프를 다시 시작하기 전에 장부에 기록합니다.",
    "pl": "Operator otwiera zawór, odczytuje ciśnienie i zapisuje je w książce, zanim pompa zostanie znowu włączona.",
}
